"""One session with one warehouse: its settings, and the objects made from them on demand, in threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.actions.temp_files import read_again_if_moved
from paimark.core.config import Settings
from paimark.core.errors import NotFound, PaimarkError
from paimark.core.quoting import literal, quoted_if_needed
from paimark.core.redaction import without_secrets
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from paimark.core.storage.parallel import begun
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.tui.memory import Memory
from paimark.tui.work.engine_room import EngineRoom
from paimark.tui.work.jobs import Jobs

if TYPE_CHECKING:
    from paimark.core.actions.context import Context
    from paimark.tui.work.running_change import RunningChange

T = TypeVar("T")
# As many newest snapshots as a tall terminal shows; the rest is read on demand.
PAGE = 100


class Target(msgspec.Struct, frozen=True):
    """The table and branch that the panes show; None is the branch that is main."""

    table: TablePath
    branch: str | None = None

    @property
    def sql_name(self) -> str:
        """The name for a FROM clause."""
        name = self.table.name if self.branch is None else f"{self.table.name}$branch_{self.branch}"
        return f"{quoted_if_needed(self.table.database)}.{quoted_if_needed(name)}"

    def select_all(self, version: RowVersion) -> str:
        """`SELECT *` from a version or a branch of the table."""
        of = self
        if version.branch is not None:
            of = Target(self.table, None if version.branch == MAIN else version.branch)
        at = "" if version.version is None else f" VERSION AS OF {literal(version.version)}"
        return f"SELECT *\nFROM {of.sql_name}{at}"


class Opened(msgspec.Struct, frozen=True):
    """A resolved target: its present root, and the name of the branch that is main."""

    target: Target
    root: Root
    main: str
    lineage: Lineage

    @property
    def of_main(self) -> Opened:
        """The branch that is main of the same table, without another read."""
        root = self.target.table.root(None if self.main == MAIN else self.main)
        return Opened(Target(self.target.table), root, self.main, Lineage(self.lineage.files, root))


class Session:
    """The constructor touches neither disk nor network; the properties do."""

    def __init__(self, settings: Settings, room: EngineRoom | None = None) -> None:
        self.settings = settings
        self.room = room or EngineRoom(settings)
        self.memory = Memory(settings)
        self.changes: list[RunningChange] = []
        self.jobs = Jobs()
        # Opens the dialog of a change in the background.
        self.show_change: Callable[[RunningChange], object] = lambda change: None

    @cached_property
    def files(self) -> Files:
        return open_files(self.settings.warehouse, self.settings.options)

    @property
    def read_only(self) -> bool:
        return self.settings.read_only

    @property
    def context(self) -> Context:
        """The context of actions and statements. For threads: it may read the store."""
        return self.room.context

    @property
    def name(self) -> str:
        """The context's name, else the end of the warehouse's address."""
        if self.settings.context:
            return self.settings.context
        address = without_secrets(self.settings.warehouse).rstrip("/")
        home = os.path.expanduser("~")
        if address.startswith(home + "/"):
            address = "~" + address[len(home) :]
        parts = address.split("/")
        return address if len(address) <= 24 else "…/" + "/".join(parts[-1:])

    def within_warehouse(self, read: Callable[[], T]) -> T:
        """Call `read`, in a thread. On `NotFound`, raise the warehouse's error if that is gone as well.

        Without the warehouse nothing is found: a person would look for a table that was dropped.
        """
        try:
            return read()
        except NotFound:
            self.files.entries("")
            raise

    def read_moving(self, read: Callable[[], T]) -> T:
        """As `within_warehouse`. Another program may move the files that it reads: it makes a branch main."""
        return self.within_warehouse(lambda: read_again_if_moved(read))

    def open(self, target: Target) -> Opened:
        """Look up the target's root. Raises `NotFound`, `Corrupt`, `Unavailable`."""
        main = main_root(self.files, target.table)
        root = main if target.branch is None else branch_root(self.files, target.table, target.branch)
        return Opened(target, root, main.branch or MAIN, Lineage(self.files, root))

    def begin_unit(self, target: Target) -> Callable[[], str]:
        """Begin to read what metadata counts in a table (`unit_of`); the returned function waits for it.

        It is read beside the rows of a pane, so that these need not wait for two more requests.
        """

        def unit() -> str:
            try:
                return unit_of(self.open(target).lineage.latest_schema())
            except PaimarkError:
                return unit_of(None)

        return begun(unit)
