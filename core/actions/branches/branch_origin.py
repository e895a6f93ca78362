"""What a branch is made from: a tag of main, or a snapshot of main, which a pin of the branch then keeps.

The pin is named after the branch and goes with it, so that one undo takes back both. A tag with a name that
people give would stay when the branch is deleted, or be deleted while somebody counts on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from paimark.core.actions.checks import integer_argument, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.roots import savepoint_claim
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.errors import NotFound, UsageError
from paimark.core.figures import minute
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import (
    PIN_PREFIXES,
    SAVEPOINT_TAG_PREFIX,
    Root,
    TablePath,
    merge_tag,
    number_in,
)
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.read_tags import is_of_read, is_permanent, kept_until_ms
from paimark.core.table.records import Tag, is_same_commit


class Origin(NamedTuple):
    """`tag_name` and `pin` are as in `BranchSource`; they are the same for a snapshot, which is `chosen`."""

    tag_name: str
    tag: Tag
    pin: str
    refusals: tuple[Refusal, ...] = ()
    chosen: ChosenSnapshot | None = None


def origin_of(context: Context, root: Root, name: str, arguments: Mapping[str, object]) -> Origin:
    """The origin that is given for branch `name`. Raises `UsageError` unless it is one, and `NotFound`."""
    tag_name, number = text_argument(arguments, "tag"), integer_argument(arguments, "snapshot")
    if tag_name is None and number is None:
        raise UsageError("tag or snapshot is missing", "Give --tag, or --snapshot.")
    if tag_name is None:
        return _of_snapshot(context, root, name, number)
    if number is not None:
        raise UsageError("A branch is made from a tag or a snapshot, and both are given", "Leave one out.")
    tag = _tag_of_main(context, root, tag_name)
    stays = is_permanent(tag_name, tag) and not tag_name.startswith(PIN_PREFIXES)
    pin = "" if stays else merge_tag(name, tag.id)
    return Origin(tag_name, tag, pin, tuple(_tag_refusals(context, root.table, tag_name, tag)))


def is_snapshot(arguments: Mapping[str, object]) -> bool:
    """Whether the arguments of a plan say that the branch is made from a snapshot."""
    return bool(arguments.get("pin")) and arguments.get("pin") == arguments.get("tag")


def said(arguments: Mapping[str, object]) -> str:
    """`snapshot 12`, `savepoint 1`, `tag v2`, from the arguments of a plan."""
    if is_snapshot(arguments):
        return f"snapshot {arguments['snapshot']}"
    tag_name = str(arguments["tag"])
    number = tag_name.removeprefix(SAVEPOINT_TAG_PREFIX)
    return f"savepoint {number}" if number != tag_name else f"tag {tag_name}"


def said_with_id(arguments: Mapping[str, object]) -> str:
    """`snapshot 12`, `tag v2 (snapshot 2)`."""
    origin = said(arguments)
    return origin if is_snapshot(arguments) else f"{origin} (snapshot {arguments['snapshot']})"


def items(origin: Origin) -> Iterator[Item]:
    """What a plan says of the origin and what keeps it."""
    kept, of_it = origin.pin or origin.tag_name, "the tag's"
    if origin.chosen is not None:
        of_it = "its"
        yield Item("keeps", f"snapshot {origin.tag.id} for the branch, by tag {kept}, which goes with it")
    elif until := kept_until_ms(origin.tag):
        text = f"what the branch needs, by tag {kept}: tag {origin.tag_name} lives until {minute(until)}"
        yield Item("keeps", text)
    yield Item("keeps", f"main as it is; the branch shares {of_it} data files with it")
    text = f"tag {kept}, which is needed now: stock engines allow deleting it, and the branch breaks then"
    yield Item("affects", text, "tag-needed", names=(kept,))


def _of_snapshot(context: Context, root: Root, name: str, number: int | None) -> Origin:
    try:
        chosen = choose(context.files, root, number)
    except NotFound as error:
        known = Lineage(context.files, root).tags()
        tags = [name for name, tag in known if tag.id == number and not is_of_read(name)]
        if not tags:
            raise
        raise NotFound(error.message, f"Tag {tags[0]} has it: give --tag {tags[0]}.") from error
    assert chosen is not None, "it has a number"
    pin, refusals = merge_tag(name, chosen.snapshot.id), list[Refusal]()
    # A retired branch of this name may have been made from the snapshot, too.
    if (there := read_if_there(context.files, root.tag(pin))) is not None:
        chosen = replace(chosen, data=there)
        if not is_same_commit(Tag.from_json(there, root.tag(pin)), chosen.snapshot):
            reason = f"Tag {pin} of {root.table.full_name} is of another snapshot {chosen.snapshot.id}"
            refusals.append(Refusal(reason, "Choose another name for the branch."))
    tag = Tag.from_json(chosen.data, root.snapshot(chosen.snapshot.id))
    return Origin(pin, tag, pin, tuple(refusals), chosen)


def _tag_of_main(context: Context, root: Root, tag_name: str) -> Tag:
    try:
        return Lineage(context.files, root).tag(tag_name)
    except NotFound as error:
        for other in all_roots(context.files, root.table):
            if other != root and Lineage(context.files, other).has_tag(tag_name):
                hint = f"Branch {other.label} has one of this name, and branches are made from tags of main."
                raise NotFound(error.message, hint) from error
        raise


def _tag_refusals(context: Context, table: TablePath, tag_name: str, tag: Tag) -> Iterator[Refusal]:
    number = number_in(tag_name, SAVEPOINT_TAG_PREFIX)
    until = kept_until_ms(tag)
    if number is not None and savepoint_claim.read_claim(context, table, number):
        yield Refusal(f"Savepoint {number} is still being made", "Wait for it, or run `paimark recover`.")
    elif until is not None and until <= context.clock():
        yield Refusal(f"Tag {tag_name} had its time: it is deleted any moment", "Choose another tag.")
