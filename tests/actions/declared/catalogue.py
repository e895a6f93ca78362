"""Every action with arguments to try it with, and which references there are afterwards.

Whoever adds an action adds it here: the tests of plans, of damaged metadata, of stores and of kills take
their actions from this list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from paimark.core.actions.context import Context
from paimark.core.actions.names import first_name
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.lineage.protected import protected
from paimark.core.table.records import Consumer
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, done

# By name: `main`, `head fix`, `first fix`, `schema fix`, `tag v2 of fix`, `savepoint 1`,
# `consumer job of main`, `protected v2`. The values are ids; that of `main` is the branch that it is.
Refs = Mapping[str, object]


CONSUMER = b'{"nextSnapshot": 5}'


def at_work(context: Context) -> None:
    """Savepoint 1, branch `fix`, a retired branch, consumer `job`; a tag whose creation was undone."""
    done(context, "create-savepoint", snapshot=5)
    done(context, "create-tag", name="fork", snapshot=4)
    for name in ("fix", "old"):
        done(context, "create-branch", name=name, tag="fork")
    done(context, "delete-branch", name="old", keep=True)
    done(context, "create-tag", name="redone", snapshot=4)
    done(context, "undo")
    context.files.create(ORDERS.root().consumer("job"), CONSUMER)


def refs(context: Context) -> dict[str, object]:
    files, main = context.files, main_root(context.files, ORDERS)
    found: dict[str, object] = {"main": _label(main.label)}
    for root in all_roots(files, ORDERS):
        lineage, label = Lineage(files, root), _label(root.label)
        schema, ids = lineage.latest_schema(), lineage.snapshot_ids()
        if schema is not None:
            found[f"schema {label}"] = schema.id
        if ids:
            found |= {f"head {label}": ids[-1], f"first {label}": ids[0]}
        found |= {f"tag {name} of {label}": tag.id for name, tag in lineage.tags()}
        for name in files.names(root.consumers):
            consumer = Consumer.from_json(files.read(f"{root.consumers}/{name}"), name)
            found[f"consumer {name.removeprefix('consumer-')} of {label}"] = consumer.next_snapshot
    found |= {f"protected {each.name}": each.reason for each in protected(files, ORDERS)}
    return found | {
        f"savepoint {each.id}": each.saved_snapshot_id for each in SavepointManager(files, ORDERS).all()
    }


def _label(root: str) -> str:
    """Without what chance gives: an archive has a time in its name, a retired branch too."""
    name = first_name(root)
    return f"retired {name}" if name != root else "archive" if root.startswith("main-") else root


class Entry(NamedTuple):
    """An action with arguments, for a table that is `at_work`.

    `then` are the references after it, from those before; None if Spark does it, or the table is moved.
    `goes_back`: `undo` makes them as they were before. One that is `alone` changes nothing that other actions
    or engines change: it is killed here, and the simulation does not have it.
    """

    action: str
    arguments: Mapping[str, object] = {}
    then: Callable[[Refs], Refs] | None = None
    goes_back: bool = False
    alone: bool = False


def same(before: Refs) -> Refs:
    return before


def plus(**named: object) -> Callable[[Refs], Refs]:
    """With these besides, `tag_n_of_main=5` for `tag n of main`."""
    more = {name.replace("__", ".").replace("_", " "): value for name, value in named.items()}
    return lambda before: {**before, **more}


def without(*ends: str) -> Callable[[Refs], Refs]:
    """Without those whose names end so."""
    return lambda before: {name: value for name, value in before.items() if not name.endswith(ends)}


def renamed(old: str, new: str) -> Callable[[Refs], Refs]:
    return lambda before: {name.replace(old, new): value for name, value in before.items()}


def replaced(before: Refs) -> Refs:
    """Branch fix is main, with main's past, and an archive is as main was."""
    moved = {name.replace(" main", " archive"): value for name, value in before.items()}
    return {**moved, "main": "fix", "first fix": 1, "tag v2 of fix": 2}


CATALOGUE = (
    Entry(
        "create-savepoint",
        {"snapshot": 3, "comment": "c"},
        plus(savepoint_2=3, tag_savepoint__2_of_main=3),
        True,
    ),
    # None is due.
    Entry("auto-savepoint", {}, same),
    Entry("create-tag", {"name": "n", "retain": "1 d"}, plus(tag_n_of_main=5), True),
    Entry(
        "create-branch",
        {"name": "b", "tag": "v2"},
        plus(head_b=2, first_b=2, schema_b=0, tag_v2_of_b=2),
        True,
    ),
    Entry("delete-savepoint", {"id": 1}, without("savepoint 1", "savepoint.1 of main")),
    Entry("delete-tag", {"name": "v2"}, without("tag v2 of main")),
    Entry("rename-tag", {"name": "v2", "to": "n"}, renamed("tag v2 of main", "tag n of main"), True),
    Entry("expire-snapshots", {"retain_last": 2}, plus(first_main=4)),
    Entry("compact", {"full": True}),
    Entry("analyze", {"columns": "*"}),
    Entry("delete-branch", {"name": "fix"}, without(" fix")),
    Entry("rename-branch", {"name": "fix", "to": "new"}, renamed(" fix", " new")),
    Entry("replace-main-branch", {"name": "fix"}, replaced, True),
    # There is nothing to rescue.
    Entry("rescue-commits", {"name": "saved"}, same),
    Entry("reset-consumer", {"name": "job"}, without("consumer job of main"), alone=True),
    Entry("protect", {"tag": "v2", "reason": "r"}, plus(protected_v2="r"), alone=True),
    # Nothing is protected.
    Entry("unprotect", {"tag": "fork"}, same),
    Entry("undo", {}, renamed("retired old", "old")),
    Entry("redo", {}, plus(tag_redone_of_main=4), True),
    Entry("restore", {"to": 2}, without("fix", "old")),
    Entry("merge-branch", {"name": "fix"}),
    Entry("rollback", {"to": "snapshot.2"}),
    Entry("revert", {"snapshot": 3}),
    Entry("restore-rows", {"from_version": "snapshot.3", "keys": "4"}),
    Entry("edit-rows", {"file": str(Path(__file__).with_name("edits.jsonl"))}),
    Entry("recover", {}, same),
    Entry("rename-table", {"to": "renamed"}),
    Entry("drop-table"),
    Entry("undrop"),
    Entry("delete-dropped"),
    Entry("alter-branch-schema", {"drop": "price", "branch": "fix"}, plus(schema_fix=1)),
)
ARGUMENTS: Mapping[str, Mapping[str, object]] = {each.action: each.arguments for each in CATALOGUE}
ALONE = frozenset(each.action for each in CATALOGUE if each.alone)
