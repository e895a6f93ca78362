"""The one guard of what is protected: `Plan.takes` is compared with it, planned and again when applied.

An action declares what it takes. Only a plan whose tags follow from the table adds some itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from paimark.core.actions.declared.declaration import Declaration
from paimark.core.actions.plan import Plan, Refusal, Taken
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.table.lineage.protected import Protected, protected
from paimark.core.table.operations import Operation
from paimark.core.table.read_tags import is_of_read
from paimark.core.text import capitalised

OF_MAIN = Taken("branch", MAIN)


def taken(declared: Declaration, given: Mapping[str, object], made: Plan) -> tuple[Taken, ...]:
    """What a plan takes that an action made with these arguments."""
    of_parts = (each for part in made.parts for each in part.takes)
    every = (*declared_of(declared, given), *made.takes, *of_parts)
    return () if made.empty else tuple(dict.fromkeys(every))


def declared_of(declared: Declaration, given: Mapping[str, object]) -> tuple[Taken, ...]:
    """What an action takes with these arguments, as far as its declaration tells."""
    branch = str(given.get("branch") or given.get("into") or MAIN)
    match declared.takes:
        case "object" if declared.object is not None:
            return (_thing(declared.object.thing or "", str(given.get(declared.object.name)), branch),)
        case "branch":
            return (Taken("branch", branch),)
        case "table":
            return (Taken("table"),)
    return ()


def undoing(operation: Operation) -> tuple[Taken, ...]:
    """What the undo of an operation takes."""
    edits = operation.turned
    if (made := edits.made) is not None:
        return (_thing(made.what, made.name, made.branch or MAIN),)
    if edits.rows is not None:
        return (Taken("branch", edits.rows.root or MAIN),)
    if edits.main is not None or edits.history is not None:
        return (OF_MAIN,)
    return () if edits.moved is None else (Taken("root", edits.moved.after),)


def leaving(files: Files, root: Root, staying: Collection[str]) -> tuple[Taken, ...]:
    """Main and its tags, without those of these names: main becomes another root, which has only these."""
    gone = (each for each in Lineage(files, root).tag_names() if each not in staying and not is_of_read(each))
    return OF_MAIN, *(Taken("tag", each) for each in gone)


def refusals(files: Files, table: TablePath, takes: Iterable[Taken]) -> list[Refusal]:
    """A refusal for each protected thing that is taken. Raises `Corrupt`."""
    return [_refusal(table, each) for each in against(files, table, takes)]


def against(files: Files, table: TablePath, takes: Iterable[Taken]) -> list[Protected]:
    """The protected things that are taken. Raises `Corrupt`."""
    takes = tuple(takes)
    if not takes or not (known := protected(files, table)):
        return []
    main = main_branch_name(files, table)
    return [each for each in known if any(_is_of(each, taken, main) for taken in takes)]


def unprotect(table: TablePath, thing: Protected) -> str:
    """The command that ends a protection."""
    return shell_line(["paimark", "unprotect", table.full_name, *arguments_of(thing)])


def arguments_of(thing: Protected) -> list[str]:
    """The words of a command line that name it."""
    words = [f"--{thing.what}", thing.name]
    return words if thing.branch in (None, MAIN) else [*words, "--branch", str(thing.branch)]


def _thing(what: str, name: str, branch: str) -> Taken:
    if what == "branch":
        return Taken("root", name)
    return Taken("tag", name, branch) if what == "tag" else Taken("savepoint", name)


def _is_of(thing: Protected, taken: Taken, main: str | None) -> bool:
    """Whether the protected thing is taken; `main` is the branch that is main, if one is."""

    def same(one: str | None, other: str) -> bool:
        return one == other or {one, other} <= {MAIN, main}

    match taken.what:
        case "table":
            return True
        case "savepoint":
            return thing.what == "savepoint" and thing.name == taken.name
        case "tag" if thing.what == "savepoint":
            return taken.name == f"{SAVEPOINT_TAG_PREFIX}{thing.name}"
        case "tag":
            return (thing.what, thing.name) == ("tag", taken.name) and same(thing.branch, taken.branch)
        case "root" if thing.what == "tag":
            return same(thing.branch, taken.name)
    return thing.what == "branch" and same(thing.name, taken.name)


def _refusal(table: TablePath, thing: Protected) -> Refusal:
    reason = f"{capitalised(thing.said)} is protected by {thing.user}: {thing.reason}"
    return Refusal(reason, f"`{unprotect(table, thing)}` ends that.", "protected")
