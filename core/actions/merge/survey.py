"""Survey a merge: main, the branch, how much of it main already has, how their definitions differ."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import msgspec

from paimark.core.actions.checks import fingerprint, link_refusals
from paimark.core.actions.merge.history import Merged, merged
from paimark.core.actions.plan import Refusal, raise_first
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, start_of
from paimark.core.actions.roots.json_edit import with_options
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.quoting import quoted, quoted_if_needed, shell_line
from paimark.core.storage.files import Files
from paimark.core.table.definition.definitions import definition
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Fork, Side, find_fork
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import require_newest, tags_beyond
from paimark.core.table.lineage.main_branch import all_roots, branch_root
from paimark.core.table.manifests.chain import comes_from
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.manifests.manifests import read_manifest_list
from paimark.core.table.records import Snapshot, TableSchema, is_same_commit

Kind = Literal["nothing", "fast-forward", "append", "keyed"]


@dataclass(frozen=True)
class Survey:
    """`base` is the branch's state that main already has; `main_base` is main's state that has it.

    `new_schemas` are the schemas that main follows to, by id, with the bytes for main: the branch's that it
    lacks, or one of its own without columns that the branch dropped.
    `choices` is the digest of a person's choices for conflicts, if there are any. `warnings` say what makes
    either side look shorter than it may have been.
    """

    start: RewriteBase
    branch: ChosenSnapshot
    base: Snapshot
    main_base: Snapshot
    base_root: Root
    kind: Kind
    new_schemas: tuple[tuple[int, bytes], ...]
    schema_refusals: tuple[Refusal, ...]
    choices: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        parts = [data for _, data in self.new_schemas]
        if self.choices is not None:
            parts.append(self.choices.encode())
        return fingerprint(
            self.start.fingerprint, self.branch.fingerprint, self.base.to_json(), self.kind, *parts
        )

    @property
    def lasting(self) -> str:
        """The fingerprint of all but main's newest snapshot, which jobs may replace with a later one."""
        schemas = (data for _, data in self.new_schemas)
        definition = (self.start.root.directory, self.start.schema_text)
        return fingerprint(*definition, self.branch.fingerprint, self.base.to_json(), *schemas)

    @property
    def target(self) -> RewriteBase:
        """Main with the schema in which the merged rows are written."""
        if not self.new_schemas:
            return self.start
        number, data = self.new_schemas[-1]
        path = self.start.root.schema(number)
        return RewriteBase(self.start.head, TableSchema.from_json(data, path))


def survey_merge(
    files: Files, table: TablePath, name: str, *, whole: bool = False, up_to: int | None = None
) -> Survey:
    """Survey a merge of branch `name`, up to a snapshot of it or its newest.

    `whole`: write all rows of the branch, whatever main has of them.

    Raises `NotFound` for no such branch, `Refused` if nothing tells what main has of it, or if either has
    lost its newest snapshots, `Corrupt`.
    """
    start = start_of(files, table)
    root = branch_root(files, table, name)
    if root == start.root:
        raise Refused(f"{name} is main of {table.full_name}", "Name another branch.")
    raise_first(link_refusals(start.schema.options, root))
    require_newest(files, root)
    head = choose(files, root, up_to)
    if head is None:
        raise Refused(f"Branch {name} of {table.full_name} has no snapshot", "There is nothing to merge.")
    main, branch = (Side(files, each, ancestors_only=True) for each in (start.root, root))
    base, main_base, base_root = base_of(files, main, branch)
    kind: Kind = "append" if whole else _kind(files, start, head, base, is_newest=up_to is None)
    schemas, refusals = _schemas(files, start, root, base, kind, head.snapshot, is_newest=up_to is None)
    warnings = (*tags_beyond(main), *tags_beyond(branch))
    return Survey(start, head, base, main_base, base_root, kind, schemas, refusals, warnings=warnings)


def base_of(files: Files, main: Side, branch: Side) -> tuple[Snapshot, Snapshot, Root]:
    """The branch's state that main has, main's state with it, and the root from which to read the latter."""
    table, name = main.root.table, branch.root.label
    known = merged(files, main.root, name)
    if known is not None and known.head.is_lost:
        # Main's tags that protect the branch would make main's lineage look longer than it is.
        raise Refused(
            f"How far branch {name} is merged into main of {table.full_name} can't be told: a merge was "
            f"interrupted, and snapshot {known.main.id} of main expired before it was recovered",
            "Replace main with the branch, or write the rows yourself.",
        )
    fork = find_fork(main, branch)
    if known is not None and _is_another(main, branch, known, fork):
        known = None
    if known is not None:
        at_head, at_main = branch.record(known.head.id), main.record(known.main.id)
        if at_head is None and known.head == known.main and _went_on(branch, known, fork):
            # A fast-forward pinned the branch's snapshot in main.
            at_head = at_main
        if at_head is None:
            raise Refused(
                f"Snapshot {known.head.id} of branch {name} of {table.full_name}, merged last, is gone",
                "What came since can't be told: replace main with the branch, or write the rows yourself.",
            )
        if known.head.is_of(at_head):
            if at_main is None or not known.main.is_of(at_main):
                raise Refused(
                    f"Snapshot {known.main.id} of main of {table.full_name}, made by the last merge, is gone",
                    "What main changed since can't be told: write the rows yourself.",
                )
            return at_head, at_main, main.root
        # Else another branch of this name.
    at_fork = (
        None if fork.snapshot_id is None else branch.record(fork.snapshot_id) or main.record(fork.snapshot_id)
    )
    if at_fork is None:
        raise no_common_past(files, branch)
    return at_fork, at_fork, branch.root


def _is_another(main: Side, branch: Side, known: Merged, fork: Fork) -> bool:
    """Whether the merged branch was another one of this name, which has been deleted since."""
    if not fork.is_proven or fork.snapshot_id is None:
        return False
    if not known.is_taken_back and fork.snapshot_id >= known.main.id:
        # This branch was made from main when main had the merge already.
        return True
    if known.is_taken_back and _parts_later(branch, known, fork):
        # This branch was made from main before the merge was taken back, and has the tag of that snapshot.
        first = min(branch.known_ids)
        return first == fork.snapshot_id and any(tag.id == first for tag in branch.tags.values())
    # After a fast-forward along the other branch, both would have the same snapshots up to this one's newest.
    went_along = known.head == known.main and (branch.latest_id or 0) < known.head.id
    common = main.known_ids & branch.known_ids
    return went_along and any(number > fork.snapshot_id for number in common)


def _parts_later(branch: Side, known: Merged, fork: Fork) -> bool:
    """Whether the branch has everything from the fork on, but not the snapshot that was merged."""
    return known.head.id not in branch.known_ids and (fork.snapshot_id or 0) > known.head.id


def _went_on(branch: Side, known: Merged, fork: Fork) -> bool:
    """Whether the branch seems to have expired the merged snapshot since."""
    is_later = (branch.latest_id or 0) > known.head.id
    return is_later and not (known.is_taken_back and _parts_later(branch, known, fork))


def _kind(files: Files, start: RewriteBase, head: ChosenSnapshot, base: Snapshot, *, is_newest: bool) -> Kind:
    if is_same_commit(head.snapshot, base) or (not is_newest and head.snapshot.id < base.id):
        return "nothing"
    between = range(base.id + 1, head.snapshot.id)
    if is_same_commit(start.head.snapshot, base) and all(
        files.exists(head.root.snapshot(number)) for number in between
    ):
        return "fast-forward"
    return "keyed" if start.schema.primary_keys else "append"


def _schemas(
    files: Files,
    start: RewriteBase,
    root: Root,
    base: Snapshot,
    kind: Kind,
    head: Snapshot,
    *,
    is_newest: bool,
) -> tuple[tuple[tuple[int, bytes], ...], tuple[Refusal, ...]]:
    if kind == "nothing":
        return (), ()
    mine, theirs = Lineage(files, root), Lineage(files, start.root)
    newest, table = mine.latest_schema() if is_newest else mine.schema(head.schema_id), start.root.table
    if newest is None:
        raise Corrupt(f"{root.directory} has no schema", "`paimark doctor` looks into it.")
    if kind != "fast-forward" and definition(newest) == definition(start.schema):
        return (), ()
    ids = theirs.schema_ids()
    # Ids that both sides have must mean the same from the base on: then only one side added schemas.
    shared = {number for number in mine.schema_ids() if base.schema_id <= number <= min(ids[-1], newest.id)}
    if kind == "fast-forward":
        shared &= {*range(base.schema_id, head.schema_id + 1), *_used(files, table, head)}
    for number in sorted(shared):
        if definition(mine.schema(number)) != definition(theirs.schema(number)):
            return (), (_differing(table, root, number),)
    new = [number for number in mine.schema_ids() if ids[-1] < number <= newest.id]
    if not new:
        return _changed_again(start, mine.schema(base.schema_id), newest), ()
    if newest.options.get("bucket") != start.schema.options.get("bucket"):
        reason = f"Branch {root.label} of {table.full_name} has another number of buckets than main"
        return (), (Refusal(reason, "Replace main with the branch, or make them equal first."),)
    options = {name: start.schema.options.get(name) for name in RETENTION_OFF}
    return (
        tuple(
            (number, with_options(files.read(root.schema(number)), options, root.schema(number)))
            for number in new
        ),
        (),
    )


def _changed_again(
    start: RewriteBase, base: TableSchema, newest: TableSchema
) -> tuple[tuple[int, bytes], ...]:
    """A definition for main where the branch dropped or renamed columns that main has as in the base.

    So it is when an undo or a rollback brought columns back that an earlier merge had taken.
    """
    then, now = ({field.id: field for field in each.fields} for each in (base, newest))
    fields = []
    for field in start.schema.fields:
        here = now.get(field.id)
        if here is None and field.id in then:
            continue
        is_renamed = here is not None and field.id in then and then[field.id].name == field.name
        fields.append(msgspec.structs.replace(field, name=here.name) if is_renamed and here else field)
    if fields == start.schema.fields:
        return ()
    new = msgspec.structs.replace(start.schema, id=start.schema.id + 1, fields=fields)
    return ((new.id, new.to_json()),)


def _used(files: Files, table: TablePath, head: Snapshot) -> set[int]:
    """The schema ids of the branch's newest state; a file may have a newer one than its snapshot."""
    live = snapshot_facts(files, table, head)
    return {head.schema_id, *(each.schema_id for each in live)}


def _differing(table: TablePath, root: Root, number: int) -> Refusal:
    return Refusal(
        f"Schema {number} of branch {root.label} and schema {number} of main of {table.full_name} differ",
        f"See both with `paimark schemas {table.word}`: make the same change on the other side first.",
    )


def no_common_past(files: Files, branch: Side) -> Refused:
    """The refusal of a merge of such a branch, for example rescued commits: it may hold only a few rows."""
    table, name = branch.root.table, branch.root.label
    hint = (
        "Their common past has expired, or one was rolled back past it. See `paimark "
        f"{shell_line(['diff', table.full_name, 'main', name])}`: write the rows yourself, or replace main "
        "with the branch if it has all rows that you want to keep."
    )
    with suppress(Corrupt, FileMissing):
        hint = _advice(files, branch) or hint
    return Refused(f"Branch {name} of {table.full_name} has no known fork from main", hint)


def _advice(files: Files, branch: Side) -> str | None:
    table, root = branch.root.table, branch.root
    # Another process may move it away meanwhile.
    first = branch.record(branch.snapshot_ids[0]) if branch.snapshot_ids else None
    if first is None:
        return None
    if not read_manifest_list(files, table.manifest(first.base_manifest_list)):
        source = f"{quoted_if_needed(table.database)}.{quoted(f'{table.name}$branch_{root.label}')}"
        return (
            f"It holds only what was committed to it. Add that: INSERT INTO {table.full_name} SELECT * FROM "
            f"{source}. Replacing main with the branch would leave main those rows alone."
        )
    if (origin := _origin(files, root, first)) is not None:
        words = shell_line(["diff", table.full_name, origin.label, root.label])
        return (
            f"It goes on from snapshot {first.id - 1} of {origin.label}: `paimark {words}` shows what it "
            "changed. Write those rows yourself."
        )
    return None


def _origin(files: Files, branch: Root, first: Snapshot) -> Root | None:
    """The root with the snapshot on which the branch's first snapshot was committed."""
    for root in all_roots(files, branch.table):
        before = Side(files, root).record(first.id - 1) if root != branch else None
        if before is not None and comes_from(files, branch.table, first, before):
            return root
    return None
