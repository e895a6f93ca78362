"""`paimark doctor`: find what this machine lacks, and what is broken or interrupted in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import click

from paimark.core.actions import recover
from paimark.core.actions.branches.create_branch import root_being_made
from paimark.core.actions.change import journal
from paimark.core.actions.context import Context
from paimark.core.actions.replace.table_directory import misdirected
from paimark.core.actions.roots.barrier import stray_commits
from paimark.core.actions.roots.guard_tags import mismatches
from paimark.core.actions.roots.pin_snapshot import stock_expiry_items
from paimark.core.actions.savepoints.auto_savepoint import schedule
from paimark.core.actions.savepoints.unprotected import beyond_repair
from paimark.core.actions.temp_files import ABANDONED_AFTER, half_written
from paimark.core.cli.checks.doctor_store import (
    Verdict,
    cluster_has,
    cluster_needs,
    conditions,
    forks,
    settings_of,
    spark_reads,
    unseen_rows,
    writers_at_once,
)
from paimark.core.cli.checks.verify import sentences
from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import print_findings
from paimark.core.cli.query.answering import Narrator, looking_at
from paimark.core.errors import Corrupt, PaimarkError, Unavailable, UsageError, shortened
from paimark.core.figures import counted, some_of
from paimark.core.quoting import shell_line
from paimark.core.redaction import redacted
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.jars import is_too_old, paimon_jar
from paimark.core.spark.launch.java import find_java
from paimark.core.storage.files import Files
from paimark.core.storage.known_options import require_files
from paimark.core.storage.open import open_files
from paimark.core.storage.parallel import each_of
from paimark.core.table.catalog import databases
from paimark.core.table.definition.retention import retention_off
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.lineage.holes import holes
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.manifests import chain
from paimark.core.table.operations import Operation, read_operations
from paimark.core.table.savepoints import SavepointManager
from paimark.core.text import capitalised
from paimark.core.travel.name_clashes import another_name, clash
from paimark.core.verify import verify
from paimark.core.verify.history import expired_elsewhere, missing_lists, overwritten_commits, summed_up
from paimark.core.verify.versions import Versions, versions

_NAMED = 5
_LOST = "Two engines wrote without a lock (lock.enabled): what is lost is to be written again."


class Finding(NamedTuple):
    """`state` is ok, warning or broken."""

    check: str
    state: str
    detail: str
    hint: str = ""


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="[TABLE]", required=False, type=TABLE)
@click.option("--deep", is_flag=True, help="Look for every file that TABLE needs, as `paimark verify` does.")
@click.pass_context
def doctor(ctx: click.Context, table: str | None, deep: bool) -> None:
    """Check Java, Spark and the warehouse; with TABLE also what is broken or interrupted in it.

    With --spark-master it starts Spark there, looks at what the machines of the cluster have, and has it open
    a data file where the warehouse is in a store. In an object store it has writers race for scratch files,
    which it deletes, unless in read-only mode: changes are refused where the store does not keep the
    conditions of writes. Instead of TABLE it takes the address of a warehouse too.

    The exit code is 1 when something in the table is broken, 3 when the engine or the store is not available.
    """
    options = global_options(ctx)
    require_files(table or "", {})
    if table is not None and "://" in table:
        options.warehouse, table = table, None
    if deep and table is None:
        raise UsageError("--deep looks into a table", "Name one: paimark doctor TABLE --deep.")
    broken = 0
    unavailable = False

    def findings() -> Iterator[Finding]:
        nonlocal broken, unavailable
        for check, look in _checks(options, table, deep=deep):
            try:
                found = list(look())
            except PaimarkError as error:
                unavailable = unavailable or isinstance(error, Unavailable)
                found = [Finding(check, "broken", error.message, error.hint)]
            broken += sum(each.state == "broken" for each in found)
            yield from map(_fit_to_show, found)

    print_findings(options, Finding._fields, findings(), sentences=2)
    if broken:
        said = f"{counted(broken, 'check')} found something broken"
        raise (Unavailable if unavailable else Corrupt)(said)


def _fit_to_show(finding: Finding) -> Finding:
    detail, hint = (shortened(redacted(text)) for text in (finding.detail, finding.hint))
    return finding._replace(detail=detail, hint=hint)


Look = Callable[[], Iterator[Finding]]


def _checks(options: GlobalOptions, table: str | None, *, deep: bool) -> Iterator[tuple[str, Look]]:
    yield "java", _java
    yield "libraries", _libraries
    yield "paimon library", lambda: _library(options)
    yield "spark", lambda: _named("spark", cluster_needs(options))
    yield "spark", lambda: _named("spark", cluster_has(options))
    yield "warehouse", lambda: _warehouse(options)
    yield "spark's readers", lambda: _named("spark's readers", spark_reads(options, table))
    yield "conditional writes", lambda: _named("conditional writes", conditions(options))
    if table is not None:
        yield table, lambda: _table(options, table)
    if table is not None and deep:
        yield "files", lambda: _files(options, table)


def _named(check: str, verdicts: Iterable[Verdict]) -> Iterator[Finding]:
    return (Finding(check, *each) for each in verdicts)


def _library(options: GlobalOptions) -> Iterator[Finding]:
    settings, spark = settings_of(options), find_spark()
    jars, release = paimon_jar(spark, {} if settings is None else settings.options)
    if not release:
        yield Finding(
            "paimon library",
            "warning",
            "it was not fetched: no rows are written, and only tables that Spark itself reads are read",
            "Run `paimark jars fetch paimon`.",
        )
        return
    where = jars[0] if jars else spark.home / "jars"
    if is_too_old(release):
        detail = f"Paimon {release}, in {where}, is too old to be used"
        yield Finding("paimon library", "warning", detail, "Give Spark a paimon-spark jar of 1.4 or newer.")
        return
    yield Finding("paimon library", "ok", f"Paimon {release}, in {where}")


def _java() -> Iterator[Finding]:
    java = find_java()
    yield Finding("java", "ok", f"Java {java.version} at {java.executable} ({java.source})")
    if java.remark:
        yield Finding("java", "warning", java.remark, "Let JAVA_HOME name the one that Spark is to run on.")


def _libraries() -> Iterator[Finding]:
    for name in ("pyspark", "pypaimon", "pyarrow"):
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError as error:
            raise Unavailable(f"{name} is not installed", "Install paimark again.") from error


def _warehouse(options: GlobalOptions) -> Iterator[Finding]:
    try:
        settings = options.settings()
    except UsageError as error:
        yield Finding("warehouse", "warning", error.message, error.hint)
        return
    files = open_files(settings.warehouse, settings.options)
    yield Finding("warehouse", "ok", f"{files.uri}, {counted(len(databases(files)), 'database')}")


def _table(options: GlobalOptions, name: str) -> Iterator[Finding]:
    context, table = looking_at(options, name)
    main = main_root(context.files, table)
    # While a branch is main, the table directory is a root only because of a stale writer's files.
    roots = [root for root in all_roots(context.files, table) if root.branch is not None or root == main]
    for findings in each_of(partial(_of_root, context), roots):
        yield from findings
    if misdirected(context.files, table) is None:
        yield from _table_directory(context.files, table)
    yield from _savepoints(context.files, table)
    there = versions(context.files, table)
    log = read_operations(context.files, table)
    yield from _lists(context.files, table, there, log)
    for each in overwritten_commits(context.files, table, there, log):
        yield Finding("commits", "broken", f"{each.path}: {each.detail}", _LOST)
    plan = recover.plan(context, table, {})
    if plan.empty:
        yield Finding("changes", "ok", plan.summary)
    else:
        yield Finding("changes", "warning", plan.summary, f"Run `paimark recover {table.word}`.")
    yield from _half_written(context, table)
    for item in plan.lines:
        # Which of the two it is says only recover.
        if item.kind in ("unknown", "affects") and item.code != recover.COMMIT_UNKNOWN:
            yield Finding("changes", "warning", capitalised(item.text))


def _half_written(context: Context, table: TablePath) -> Iterator[Finding]:
    """Temporary files that are not a day old: their writer may have died, or be about to finish."""
    now = context.clock()
    young = sorted(
        path for path, modified in half_written(context.files, table) if now - modified <= ABANDONED_AFTER
    )
    if young:
        detail = (
            f"{counted(len(young), 'half-written file')}, of a writer that died or is about to finish: "
            f"{some_of(young, _NAMED)}. Readers skip them"
        )
        hint = f"`paimark recover {table.word}` removes those that are older than a day."
        yield Finding("changes", "warning", detail, hint)


def _lists(files: Files, table: TablePath, there: Versions, log: Sequence[Operation]) -> Iterator[Finding]:
    """Versions that can't be read because somebody deleted their files."""
    elsewhere = expired_elsewhere(there, log)
    taken: set[str] = set()
    for path, needing in missing_lists(files, there, table):
        if all(each.path in elsewhere for each in needing):
            taken |= {each.path for each in needing}
            continue
        some = some_of([each.name for each in needing], _NAMED)
        hint = f"`paimark verify {table.word}` tells all that is lost; restore it from a backup."
        yield Finding("files", "broken", f"{path} is not there; {some} can't be read", hint)
    for each in summed_up(there, taken, elsewhere, main_root(files, table)):
        yield Finding(f"branch {each.branch}", "warning", str(each), f"Run: {each.heal}")


def _files(options: GlobalOptions, name: str) -> Iterator[Finding]:
    """The findings of `paimark verify`."""
    narrator = Narrator()
    report = verify(*looking_at(options, name), progress=narrator.wait)
    narrator.clear()
    for each in report.problems:
        needed = f", needed by {', '.join(each.needed_by)}" if each.needed_by else ""
        hint = f"`paimark verify {report.table}` tells all; restore the file from a backup."
        if each.cause == "lost":
            hint = _LOST
        yield Finding("files", "broken", f"{each.path}: {each.detail}{needed}", hint)
    for expired in report.expired:
        yield Finding(f"branch {expired.branch}", "warning", str(expired), f"Run: {expired.heal}")
    for sentence in sentences(report):
        yield Finding("files", "ok", sentence)


def _table_directory(files: Files, table: TablePath) -> Iterator[Finding]:
    """Findings in the table directory while a branch is main: guards, notice, barrier, stray commits."""
    for sentence in mismatches(files, table):
        hint = f"`paimark auto-savepoint {table.word}` puts it right; what is too many, the next expiry."
        yield Finding("guards", "warning", sentence, hint)
    if strays := stray_commits(files, table):
        users = ", ".join(sorted({each.commit_user for each in strays}))
        detail = (
            f"{counted(len(strays), 'commit')} to {table.directory} since a branch became main, by {users}"
        )
        hint = f"Stop that job, then run `paimark rescue-commits {table.word} --name BRANCH`."
        yield Finding("stray commits", "warning", detail, hint)


def _of_root(context: Context, root: Root) -> list[Finding]:
    files = context.files
    verdicts = (*forks(files, root), *_interval(files, root), *unseen_rows(files, root))
    return [*_root(context, root), *_named(f"branch {root.label}", verdicts)]


def _is_being_moved(context: Context, table: TablePath) -> bool:
    """Whether its schemas may be elsewhere by now: it was being dropped or renamed on an object store."""
    with suppress(Corrupt):
        return bool(journal.refusals(context, table, of=journal.MOVES))
    return False


def _root(context: Context, root: Root) -> Iterator[Finding]:
    files = context.files
    lineage = Lineage(files, root)
    rows = lineage.rows()
    counts = (len(rows), len(lineage.tags()), len(lineage.schemas()))
    name = f"branch {root.label}"
    yield Finding(
        name,
        "ok",
        f"{counted(counts[0], 'snapshot')}, {counted(counts[1], 'tag')}, {counted(counts[2], 'schema')}",
    )
    is_unfinished = not counts[2] and (
        root_being_made(context, root.table) == root
        or lineage.schema_ids()
        or _is_being_moved(context, root.table)
    )
    if counts[0] and not counts[2] and not is_unfinished:
        detail = (
            "It has snapshots and no schema: a job wrote there after the branch was moved or deleted, or an "
            "engine died while it deleted the branch"
        )
        words = shell_line([root.table.full_name, "--name", root.label])
        hint = "Stop that job; write its rows again."
        if root.branch is not None:
            hint += f" Then run: paimark delete-branch {words}"
        yield Finding(name, "broken", detail, hint)
    if root.branch is not None and not counts[0] and not counts[2] and not is_unfinished:
        detail = "It has no schema: stock remove_orphan_files stops there, for the whole table"
        words = shell_line([root.table.full_name, "--name", root.label])
        yield Finding(name, "warning", detail, f"Run: paimark delete-branch {words}")
    for sentence in lineage.unreadable.values():
        yield Finding(name, "broken", sentence, "Restore the file from a backup, or remove it.")
    for tag_name, tag in lineage.tags():
        if detail := clash(tag_name, tag.id):
            yield Finding(name, "warning", detail, another_name(root, tag_name))
    if (lost := lost_newest(files, root)) is not None:
        yield Finding(name, "broken", lost.reason, lost.hint)
    for hole in holes(files, root):
        yield Finding(name, "warning" if hole.is_cut_off else "broken", hole.reason, hole.hint)
    for sentence in chain.warnings(files, root):
        yield Finding(name, "warning", sentence, f"{chain.INSTEAD}.")
    yield from _named(name, writers_at_once(files.uri, root, rows))
    for item in stock_expiry_items(files, root):
        warning = capitalised(item.text)
        words = shell_line([root.table.full_name, "--branch", root.label, "--set", retention_off()])
        yield Finding(name, "warning", warning, f"Run: paimark alter-branch-schema {words}")


def _interval(files: Files, root: Root) -> Iterator[Verdict]:
    """A savepoint interval in the options that can't be applied."""
    try:
        schedule(files, root, 0)
    except UsageError as error:
        yield Verdict("broken", error.message, error.hint)


def _savepoints(files: Files, table: TablePath) -> Iterator[Finding]:
    manager = SavepointManager(files, table)
    healths = {savepoint.id: health for savepoint, health in manager.health()}
    kept = sum(health == "ok" for health in healths.values())
    theirs = "its tag" if kept == 1 else "their tags"
    yield Finding("savepoints", "ok", f"{counted(kept, 'savepoint')} protected by {theirs}")
    lost = beyond_repair(files, table) if "unprotected" in healths.values() else {}
    for savepoint_id, health in sorted(healths.items()):
        if health == "unprotected":
            hint = f"Run `paimark recover {table.word}`: it writes the tag again while the files are there."
            if savepoint_id in lost:
                hint = (
                    f"`paimark recover` can't write its tag: {lost[savepoint_id]}. Nothing keeps its files. "
                    f"Save its rows if it can be read: VERSION AS OF '{savepoint_tag(savepoint_id)}'."
                )
            yield Finding("savepoints", "broken", f"Savepoint {savepoint_id} is unprotected", hint)
        elif health == "unverified":
            hint = f"Read it once, whole: VERSION AS OF '{savepoint_tag(savepoint_id)}'."
            detail = f"Savepoint {savepoint_id} is unverified: nobody proved that its tag came in time"
            yield Finding("savepoints", "warning", detail, hint)
    for root, savepoint, other in manager.replaced_tags():
        name = savepoint_tag(savepoint.id)
        detail = (
            f"Tag {name} of {root.label} is of snapshot {other.id}, and savepoint {savepoint.id} saved "
            f"snapshot {savepoint.saved_snapshot_id}: neither is read by that name"
        )
        hint = (
            f"Another engine wrote the tag. Delete it there; `paimark recover {table.word}` writes the "
            "savepoint's again while its files are there."
        )
        yield Finding("savepoints", "broken", detail, hint)
    for root, tag in manager.foreign():
        detail = f"Tag {tag} of {root.label} is foreign: it is of no savepoint in this table"
        hint = "Another engine made it, or it came with a copy; it keeps its files like any tag."
        yield Finding("savepoints", "warning", detail, hint)
    for sentence in manager.unreadable.values():
        yield Finding("savepoints", "broken", sentence, "Restore the file from a backup.")
