"""`paimark verify`: look for every file that a table's versions need, and for files that none needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click

from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import print_findings
from paimark.core.cli.query.answering import Narrator, looking_at
from paimark.core.durations import parse_duration
from paimark.core.errors import Corrupt, UsageError
from paimark.core.figures import counted, size, some_of
from paimark.core.verify import verify as look
from paimark.core.verify.report import Orphan, VerifyReport

# Exit codes: the table is whole but has orphans; every file is there but a commit is lost.
ORPHANS, LOST = 4, 5
_OLD = "1 d"


class FindingRow(NamedTuple):
    """`finding` is missing, size, damaged, lost, orphan, young or leftover; `age` is seconds."""

    finding: str
    path: str
    size: int | None
    age: int | None
    detail: str


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.option(
    "--read-data", metavar="N%", help="Read this share of the data files too, always the same ones."
)
@click.option(
    "--orphans", is_flag=True, help="List the files that no version needs; exit with 4 for old ones."
)
@click.option(
    "--older-than",
    metavar="TIME",
    help="How old an orphan is that no writer can commit (1 d).",
)
@click.pass_context
def verify(
    ctx: click.Context, table: str, read_data: str | None, orphans: bool, older_than: str | None
) -> int:
    """Look for every file that any snapshot, tag, savepoint or branch of TABLE needs.

    Data files that are read are decoded, their rows counted and the order of their keys checked. Nothing is
    written, and writers may go on.

    \b
    Exit codes
      0  every file is there, and as long as it should be
      1  files are missing, damaged or of another size: each is listed with who needs it
      3  the store does not answer
      4  whole; but with --orphans, files are there that nothing needs
      5  every file is there, and a commit was overwritten by another engine's
    """
    options, narrator = global_options(ctx), Narrator()
    if older_than and not orphans:
        raise UsageError("--older-than says how old an orphan is", "It goes with --orphans.")
    share, age = _share(read_data), parse_duration(older_than or _OLD)
    report = look(*looking_at(options, table), read_data=share, older_than=age, progress=narrator.wait)
    narrator.clear()
    findings = list(_rows(report, orphans=orphans))
    # A heading without rows would look as if something were missing.
    if findings or options.as_json:
        print_findings(options, FindingRow._fields, findings, sentences=1)
    expired = (f"{each}. To let them expire here too: {each.heal}" for each in report.expired)
    for line in (*sentences(report), *expired, *report.warnings):
        narrator.say(line)
    if report.problem_count > report.lost_count:
        count = report.problem_count - report.lost_count
        raise Corrupt(
            f"{report.table} is not whole: {counted(count, 'file')} missing or damaged",
            "Restore what is listed from a backup, or give up the versions that need it.",
        )
    if report.lost_count:
        return LOST
    return ORPHANS if orphans and report.orphan_count else 0


def sentences(report: VerifyReport) -> Iterator[str]:
    """Sentences on a table, apart from its problems."""
    needs = (
        f"{report.table}: {counted(report.versions, 'version')} on {_lines(report.roots)} need "
        f"{counted(report.files, 'file')}, {size(report.bytes)}"
    )
    yield f"{needs}; {counted(report.sampled, 'data file')} read" if report.sampled else needs
    if report.unread:
        yield f"{counted(report.unread, 'data file')} not read: too much memory would be taken"
    if report.unseen:
        yield f"{counted(report.unseen, 'file')} out of the warehouse's sight: not looked for"
    if report.problem_count > len(report.problems):
        yield f"Only the first {len(report.problems):,} of {report.problem_count:,} are listed"
    if report.lost_count:
        yield (
            f"{counted(report.lost_count, 'commit')} overwrote another: two engines wrote without a lock. "
            "Give their catalogs one (lock.enabled); what is lost is to be written again"
        )
    if report.orphan_count:
        yield f"{counted(report.orphan_count, 'orphan')}, {size(report.orphan_bytes)}: nothing needs them"
        if not report.tells_orphans:
            yield "They may be needed all the same: what would tell is missing or damaged"
    if report.young_count:
        yield f"{counted(report.young_count, 'young file')} that running writers may be about to commit"
    if report.leftovers:
        yield f"{counted(len(report.leftovers), 'leftover')} of changes that run, or did not end"


def _lines(roots: int) -> str:
    """`main and 2 branches`."""
    return "main" if roots == 1 else f"main and {counted(roots - 1, 'branch', 'branches')}"


def _share(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise UsageError(f"{text!r} is not a share of the data files", "Write it like 5%, or 100% for all.")
    return share


def _rows(report: VerifyReport, *, orphans: bool) -> Iterator[FindingRow]:
    for each in report.problems:
        names = some_of(each.needed_by, len(each.needed_by), each.needed_by_count)
        detail = f"{each.detail}; needed by {names}" if names else each.detail
        yield FindingRow(each.cause, each.path, None, None, detail)
    if orphans:
        yield from (_row("orphan", each) for each in report.orphans)
        yield from (_row("young", each) for each in report.young)
        yield from (_row("leftover", each) for each in report.leftovers)


def _row(finding: str, each: Orphan) -> FindingRow:
    age = None if each.age is None else each.age // 1000
    return FindingRow(finding, each.path, each.size, age, f"of {each.owner}")
