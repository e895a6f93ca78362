"""What is declared of an action, once, for every place that offers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from paimark.core.actions.declared.kinds import Argument, Message, Seen, Text, Thing, Value

if TYPE_CHECKING:
    from paimark.core.table.follow_ups import Event


# What every change takes that somebody asks for; the registry takes it, and no action sees it.
MESSAGE = Message("message", "Why: goes into the log, and into the snapshot that it commits.")
AUTHOR = Text("author", "Who made it, if not the user of this machine.")
NOTE = (MESSAGE, AUTHOR)
# What an action takes from readers, or changes for them: its object, the branch that it works on (main if it
# has no argument for it), or the whole table.
Takes = Literal["", "object", "branch", "table"]


class Key(msgspec.Struct, frozen=True):
    """A key of the console. Actions on different things may share one: the row says which is meant.

    `does` is for the tooltip, and `third` the same of a key: `renames a tag`, for a tab where it can't.
    """

    key: str
    id: str
    label: str
    does: str
    third: str = ""
    is_in_bar: bool = True


class Declaration(msgspec.Struct, frozen=True):
    """An action. `code` is its module below `paimark.core.actions`, and its name comes from that.

    `asks` tells beforehand that something is usually lost, so that a person has to agree: a script that
    nobody watches is refused before it begins. One that `moves_main` may change main's newest snapshot, and
    is followed by an automatic savepoint, if one is due. `follows` is the event that stock engines have
    follow-ups for. One that is `of_no_table` takes a table out of the trash.

    One that `has_no_note` takes no message: the clock makes it.

    `takes` is what must not be protected. `more` are further sentences for `--help` and Python. `result`
    names a struct of `paimark.results`.
    `changes` are its kinds of change, by the names in journals, with the module and class of each.
    """

    code: str
    summary: str
    arguments: tuple[Argument, ...] = ()
    more: str = ""
    takes: Takes = ""
    result: str = "Result"
    changes: Mapping[str, str] = {}
    key: Key | None = None
    asks: bool = False
    moves_main: bool = False
    follows: Event | None = None
    of_no_table: bool = False
    has_no_note: bool = False

    @property
    def name(self) -> str:
        return self.code.rpartition(".")[2].replace("_", "-")

    @property
    def verb(self) -> str:
        return self.name.partition("-")[0]

    @property
    def object(self) -> Argument | None:
        """The argument for the thing that the action is about; None if it is about no thing of a row."""
        return next((each for each in self.arguments if each.thing and each.required), None)

    @property
    def thing(self) -> Thing | None:
        return None if self.object is None else self.object.thing

    @property
    def varied(self) -> Argument | None:
        """The argument that also takes a list."""
        return next((each for each in self.arguments if each.many), None)

    @property
    def is_of_table(self) -> bool:
        """Whether it takes nothing from the row under the cursor; from one of the log it only can."""
        return not any(each.from_row and each.thing != "operation" for each in self.arguments)

    def of(self, seen: Seen) -> dict[str, Value]:
        """The arguments that a row gives."""
        given = ((each.name, each.of(seen)) for each in self.arguments)
        return {name: value for name, value in given if value is not None}

    def why_not(self, seen: Seen) -> str:
        """Why its key does nothing on a row without a thing for it; empty if the row has one.

        A dialog with an empty name would take the next key, meant for the row, for the name.
        """
        needed = self.object
        if needed is None or needed.of(seen) is not None:
            return ""
        return needed.why_none(self.verb, seen)
