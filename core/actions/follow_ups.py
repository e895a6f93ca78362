"""What plans say about work that a stock engine does after its commit or tag, and this program does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from paimark.core.actions.checks import newest_options
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Item, Refusal, Step
from paimark.core.errors import PaimarkError
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.follow_ups import Event, left_out, makes_success_files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests import iceberg

TRACKING = "row-tracking.enabled"


def items(files: Files, table: TablePath, event: Event) -> tuple[Item, ...]:
    """What readers by other ways do not see of a change of main, or of a tag."""
    try:
        options = newest_options(files, main_root(files, table))
    except PaimarkError:
        # Whoever repairs a damaged table plans, too.
        return ()
    if event == "rows" and is_on(options, TRACKING):
        new_ids = Item(
            "affects", f"rows that are written again get new row ids ({TRACKING} = true)", "new-row-ids"
        )
        return (*items_of(options, event), new_ids)
    return items_of(options, event)


def items_of(options: Mapping[str, str], event: Event) -> tuple[Item, ...]:
    return tuple(Item("affects", text, code) for code, text in left_out(options, event))


def ids_given_again(files: Files, table: TablePath, newest: int, instead: str = "") -> list[Refusal]:
    """Why main can't go on from the snapshot `newest`: Iceberg metadata knows later ones by their ids.

    Its versions are those ids. A stock commit of such an id finds the old version, and leaves it as it is:
    Iceberg readers would see the rows of the other history for good.
    """
    known = iceberg.newest_version(files, table)
    if known is None or known <= newest:
        return []
    anew = f"elete what holds it, {' and '.join(iceberg.in_use(files, table))}: a stock commit writes it anew"
    those = f"id {known}" if known == newest + 1 else f"ids {newest + 1} to {known}"
    return [
        Refusal(
            f"Iceberg readers of {table.full_name} know what main has as {those}, and would not see what "
            f"comes under {'it' if known == newest + 1 else 'them'} next",
            f"{instead}, or d{anew}." if instead else f"D{anew}.",
            "iceberg-knows-ids",
        )
    ]


# Stock engines write it after the tag, delete it after the tag, and leave it alone when a tag is renamed.
class _Times(msgspec.Struct, rename="camel"):
    """Epoch ms."""

    creation_time: int


def step(options: Mapping[str, str], root: Root, tag: str) -> Iterator[Step]:
    """The step of a plan that makes a tag."""
    if makes_success_files(options):
        yield Step("create", root.table.success_file(tag), "tells jobs that the tag is there")


def write(context: Context, root: Root, tag: str, progress: Progress) -> None:
    """Write the file of a new tag if the table wants one. The tag is made: a failure is only reported."""

    def wanted() -> None:
        path, now = root.table.success_file(tag), context.clock()
        created = _created(read_if_there(context.files, path), now)
        text = f'{{\n  "creationTime" : {created},\n  "modificationTime" : {now}\n}}'
        context.files.replace(path, text.encode())

    _attempt(context.files, root, wanted, f"tag {tag} is made, but not its success file", progress)


def delete(files: Files, root: Root, tag: str, progress: Progress) -> None:
    """Delete the file of a tag that is gone."""
    path = root.table.success_file(tag)
    _attempt(
        files, root, lambda: files.delete(path), f"tag {tag} is gone, but not its success file", progress
    )


def _created(there: bytes | None, now: int) -> int:
    """The time in the file of an earlier tag of this name, which stock engines keep."""
    try:
        return now if there is None else msgspec.json.decode(there, type=_Times).creation_time
    except msgspec.MsgspecError:
        return now


def _attempt(files: Files, root: Root, do: Callable[[], None], failed: str, progress: Progress) -> None:
    try:
        if makes_success_files(newest_options(files, root)):
            do()
    except PaimarkError as error:
        progress(Remark(f"{failed}: {error.message}"))
