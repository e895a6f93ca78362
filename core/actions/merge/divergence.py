"""What a merge starts from: the target, the branch, how much the target has of it, how definitions differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from paimark.core.actions.checks import fingerprint, link_refusals
from paimark.core.actions.merge.ancestry import main_that_it_brings
from paimark.core.actions.merge.base import Base, base_of
from paimark.core.actions.plan import Refusal, raise_first
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, start_in, start_of
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.errors import Corrupt, Refused
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import definition, with_retention
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import require_newest, tags_beyond
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.records import Snapshot, TableSchema, is_same_commit

Kind = Literal["nothing", "fast-forward", "append", "keyed"]


@dataclass(frozen=True)
class Divergence:
    """`start` is the target: main, or the branch that is merged into.

    `base` is the branch's state that it already has, read with the definitions of `base_root`; `main_base` is
    its own state that has that. `new_schemas` are the schemas that the target follows to, by id,
    with the bytes for it: the branch's that it lacks, or one of its own without columns that the branch
    dropped.
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
    def main_base_root(self) -> Root:
        """The root with whose definitions `main_base` is read."""
        return self.base_root if is_same_commit(self.base, self.main_base) else self.start.root

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
        """The fingerprint of all but the target's newest snapshot, which jobs may replace by a later one."""
        schemas = (data for _, data in self.new_schemas)
        definition = (self.start.root.directory, self.start.schema_text)
        return fingerprint(*definition, self.branch.fingerprint, self.base.to_json(), *schemas)

    @property
    def target(self) -> RewriteBase:
        """The target with the schema in which the merged rows are written."""
        if not self.new_schemas:
            return self.start
        number, data = self.new_schemas[-1]
        return self.start.defined_as(TableSchema.from_json(data, self.start.root.schema(number)))


def find_divergence(
    files: Files,
    table: TablePath,
    name: str,
    into: str | None = None,
    *,
    whole: bool = False,
    up_to: int | None = None,
) -> Divergence:
    """Compare branch `name`, up to a snapshot of it or its newest, with main or the branch that gets it.

    `whole`: write all rows of the branch, whatever main has of them.

    Raises `NotFound` for no such branch, `Refused` if nothing tells what the target has of it, or if either
    has lost its newest snapshots, `Corrupt`.
    """
    start = target_of(files, table, into)
    root = branch_root(files, table, name)
    if root == start.root:
        reason = f"{name} is main" if start.is_main else f"{name} is the branch to merge into,"
        raise Refused(f"{reason} of {table.full_name}", "Name another branch.")
    raise_first([each for of in (root, start.root) for each in link_refusals(start.schema.options, of)])
    require_newest(files, root)
    head = choose(files, root, up_to)
    if head is None:
        raise Refused(f"Branch {name} of {table.full_name} has no snapshot", "There is nothing to merge.")
    target, branch = (Side(files, each, ancestors_only=True) for each in (start.root, root))
    base = base_of(files, target, branch, head.snapshot)
    kind: Kind = "append" if whole else _kind(files, start, head, base, is_newest=up_to is None)
    schemas, refusals = _schemas(files, start, root, base.state, kind, head.snapshot, is_newest=up_to is None)
    refusals = (*refusals, *_of_main(files, table, target, branch, head.snapshot))
    warnings = (*tags_beyond(target), *tags_beyond(branch))
    return Divergence(
        start,
        head,
        base.state,
        base.target_state,
        base.root,
        kind,
        schemas,
        refusals,
        warnings=warnings,
    )


def target_of(files: Files, table: TablePath, into: str | None) -> RewriteBase:
    """Main, or the branch that is merged into. Raises `NotFound`, and as `start_in`."""
    root = branch_root(files, table, into)
    is_main = root == main_root(files, table)
    return start_of(files, table) if is_main else start_in(files, root, is_main=False)


def _of_main(
    files: Files, table: TablePath, target: Side, branch: Side, head: Snapshot
) -> tuple[Refusal, ...]:
    """A merge into another branch would bring commits of main by the way."""
    brings = main_that_it_brings(files, target, branch, head)
    if brings is None:
        return ()
    name, into = branch.root.label, target.root.label
    reason = (
        f"Branch {name} of {table.full_name} has main up to snapshot {brings[0]}, and branch {into} only up "
        f"to snapshot {brings[1]}"
    )
    words = ["paimark", "merge-branch", table.full_name, "--name", "main", "--into", into]
    words += ["--up-to", str(brings[0])]
    return (Refusal(reason, f"Merge main into it first: `{shell_line(words)}`.", "main-comes-along"),)


def _kind(files: Files, start: RewriteBase, head: ChosenSnapshot, found: Base, *, is_newest: bool) -> Kind:
    base, is_own = found.state, found.root == head.root
    is_earlier = is_own and not is_newest and head.snapshot.id < base.id
    if is_same_commit(head.snapshot, base) or is_earlier:
        return "nothing"
    between = range(base.id + 1, head.snapshot.id)
    # Main's own snapshots expire, and engines that expire them know nothing of a branch that shares them.
    if (
        is_own
        and head.root != main_root(files, head.root.table)
        and is_same_commit(start.head.snapshot, base)
        and all(files.exists(head.root.snapshot(number)) for number in between)
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
            return (), (_differing(start, root, number),)
    new = [number for number in mine.schema_ids() if ids[-1] < number <= newest.id]
    if not new:
        return _changed_again(start, mine.schema(base.schema_id), newest), ()
    if newest.options.get("bucket") != start.schema.options.get("bucket"):
        reason = f"Branch {root.label} of {table.full_name} has another number of buckets than {start.place}"
        otherwise = "Replace main with the branch, or make" if start.is_main else "Make"
        return (), (Refusal(reason, f"{otherwise} them equal first."),)
    paths = {number: root.schema(number) for number in new}
    retained = start.schema.options
    return (
        tuple((number, with_retention(files.read(path), path, retained)) for number, path in paths.items()),
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


def _differing(start: RewriteBase, root: Root, number: int) -> Refusal:
    table = root.table
    return Refusal(
        f"Schema {number} of branch {root.label} and schema {number} of {start.place} of {table.full_name} "
        "differ",
        f"See both with `paimark schemas {table.word}`: make the same change on the other side first.",
    )
