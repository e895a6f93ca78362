"""Run a statement again that changes rows, if others committed meanwhile what its commit relied on.

A compaction takes the files away that hold the rows of a table without keys, and not the rows. A job that
compacts all the time would outrun each statement.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import NotFound, Outrun
from paimark.core.spark.protocol import Run
from paimark.core.storage.files import Files
from paimark.core.table.catalog import find_table
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import named_table
from paimark.core.table.records import Snapshot, commit_key
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.inserts import COMMANDS, read_change

_MOST, _LEAST = 20, 3
# No more than the least after this time.
_SECONDS = 300
_FIRST_WAIT, _LONGEST_WAIT, _POLL = 0.1, 2.0, 0.05
T = TypeVar("T")


def tried(run: Callable[[], T], moves_on: Callable[[], bool]) -> T:
    """What `run` returns, at the first of several tries that is not outrun.

    `moves_on` prepares the next try, and says whether there is one. Raises as `run`.
    """
    began, tries = time.monotonic(), 1
    while True:
        try:
            return run()
        except Outrun as error:
            is_late = tries == _MOST or (tries >= _LEAST and time.monotonic() - began > _SECONDS)
            if not is_late:
                _wait(tries)
            if is_late or not moves_on():
                if tries == 1:
                    raise
                raise Outrun(f"{error.message}, at each of {tries} tries", error.hint) from error
            tries += 1


def _wait(tries: int) -> None:
    """Longer after each try, and never in step with a job. Raises `Cancelled`."""
    wait = min(_FIRST_WAIT * 2 ** (tries - 1), _LONGEST_WAIT) * random.uniform(0.5, 1)
    end = time.monotonic() + wait
    while (left := end - time.monotonic()) > 0:
        check_cancelled()
        time.sleep(min(left, _POLL))


def on_newest(files: Files, order: Run) -> Run | None:
    """The order to change rows of the newest snapshot; None if they may be others than those of the order's.

    Rows that were added may be there besides.
    """
    statement, inserting = read_statement(order.sql), order.inserting
    if inserting is None or not inserting.head or statement.kind not in COMMANDS:
        return None
    table, branch = named_table(read_change(statement).parts, order.database)
    root = branch_root(files, find_table(files, table.full_name), branch)
    lineage = Lineage(files, root)
    schema, newest = lineage.require_schema(), lineage.latest()
    head = Snapshot.from_json(inserting.head.encode(), "the order")
    if schema.primary_keys or newest is None or root.branch != inserting.root:
        return None
    # Of a table with data evolution, files that are added may have columns of rows that are there.
    evolves = is_on(schema.options, "data-evolution.enabled")
    kinds = {"COMPACT", "ANALYZE"} if evolves else {"COMPACT", "ANALYZE", "APPEND"}
    try:
        if commit_key(lineage.snapshot(head.id)) != commit_key(head):
            return None
        later = [lineage.snapshot(each) for each in range(head.id + 1, newest.id + 1)]
    except NotFound:
        # It has expired, and nobody knows what it did.
        return None
    if not later or any(each.commit_kind not in kinds for each in later):
        return None
    return replace(order, inserting=replace(inserting, head=newest.to_json().decode()))
