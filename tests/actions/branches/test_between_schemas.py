"""A creation dies between two schemas: who can open the branch by then commits to it, and loses nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pypaimon.catalog.catalog_exception import TableNotExistException

from paimark.core.actions.context import Context
from paimark.core.verify.verify import verify
from tests.actions.acting import EVENTS, context_on, done
from tests.faults.fault_files import Film
from tests.faults.trees import TreeOnDisk
from tests.paimon import commit, read_rows

BRANCH = f"{EVENTS.full_name}$branch_fix"
SCHEMA = pa.schema([("day", pa.string()), ("kind", pa.string()), ("one", pa.int32()), ("two", pa.int32())])


def test_a_commit_between_two_schemas_is_in_the_branch_that_is_finished(
    context: Context, warehouse: Path
) -> None:
    """The table has no key: a writer needs the newest schema only, and readers all of them."""
    for name in ("one", "two"):
        done(context, "alter-branch-schema", table=EVENTS, add=f"{name} INT")
    row = pa.table({"day": ["d"], "kind": ["late"], "one": [1], "two": [2]}, schema=SCHEMA)
    commit(warehouse, EVENTS.full_name, row)
    done(context, "create-tag", table=EVENTS, name="now")
    film = Film(context.files, TreeOnDisk(warehouse / EVENTS.directory))
    done(context_on(warehouse, film), "create-branch", table=EVENTS, name="fix", tag="now")
    expected = len(read_rows(warehouse, BRANCH)) + 1
    kinds = set()
    for point in film.points():
        film.put_back(point)
        if "branch-fix/" not in point.call or not context.files.exists(EVENTS.journal):
            continue
        committed = True
        try:
            commit(warehouse, BRANCH, row)
        except TableNotExistException:
            committed = False
        done(context, "recover", table=EVENTS)
        schemas = len(list((warehouse / EVENTS.directory).glob("branch/branch-fix/schema/schema-*")))
        assert schemas == (3 if committed else 0), point
        if committed:
            assert len(read_rows(warehouse, BRANCH)) == expected, point
        assert verify(context, EVENTS).problems == (), point
        kinds.add((committed, point.call[-1]))
    assert {(True, "2"), (True, "1"), (True, "0")} <= kinds and (False, "T") in kinds
