"""A savepoint whose branch a stock engine deleted: its tag goes to main where that is right, else nowhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.savepoints.unprotected import beyond_repair
from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.errors import NotFound
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.records import is_apart
from paimark.core.table.savepoints import SavepointManager
from paimark.core.travel.version import resolve_version
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, done, planned, replace_rows
from tests.actions.taking_over import branched, rows_of
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, read_rows
from tests.wording import about

MAIN = ORDERS.root()


def delete_branch(orders: Path, name: str = "fix") -> None:
    """As a stock engine does."""
    shutil.rmtree(orders / f"branch/branch-{name}")


def widen(context: Context, of: str, branch: str | None, column: str) -> None:
    """Add a column of text, and a row by that schema."""
    done(context, "alter-branch-schema", branch=branch, add=column)
    schema = ORDERS_SCHEMA.append(pa.field(column.split()[0], pa.string()))
    rows = {"order_id": [101], "customer": ["c"], "price": [1.0], column.split()[0]: ["x"]}
    commit(context.files.uri, f"shop.orders{of}", pa.table(rows, schema=schema))


def reasons(context: Context) -> str:
    findings = doctor._table(GlobalOptions(warehouse=context.files.uri), "shop.orders")
    return " ".join(each.hint for each in findings if "unprotected" in each.detail)


def test_main_gets_the_tag(context: Context, warehouse: Path, orders: Path) -> None:
    fix = branched(context)
    done(context, "create-savepoint", branch="fix")
    rows, tag = rows_of(context, fix), (orders / "branch/branch-fix/tag/tag-savepoint.1").read_bytes()
    delete_branch(orders)
    plan = planned(context, "recover")
    assert [(step.verb, step.target) for step in plan.steps] == [
        ("create", "shop.db/orders/tag/tag-savepoint.1")
    ]
    assert beyond_repair(context.files, ORDERS) == {}
    done(context, "recover")
    kept = Lineage(context.files, MAIN).tag("savepoint.1")
    assert is_apart(kept) and kept.delta_manifest_list in tag.decode()
    assert sorted(read_rows(warehouse, "shop.orders", tag="savepoint.1"), key=str) == sorted(rows, key=str)
    [(_, health)] = SavepointManager(context.files, ORDERS).health()
    report = verify(context, ORDERS)
    # The older tag v2 is in no danger: the savepoint has all its files.
    assert (health, report.problems, report.warnings) == ("ok", (), ())
    assert planned(context, "recover").empty
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    done(context, "delete-tag", name="v2")
    assert sorted(read_rows(warehouse, "shop.orders", tag="savepoint.1"), key=str) == sorted(rows, key=str)
    done(context, "delete-savepoint", id=1)
    assert missing_of(context.files, MAIN, kept) and verify(context, ORDERS).problems == ()


def test_main_gets_the_tag_of_an_earlier_version_only_by_schema_0(context: Context, orders: Path) -> None:
    branched(context)
    done(context, "create-savepoint", branch="fix")
    record = orders / "savepoint/savepoint-1"
    fields = msgspec.json.decode(record.read_bytes())
    assert len(fields.pop("schemaDigest")) == 64
    record.write_bytes(msgspec.json.encode(fields))
    delete_branch(orders)
    assert not planned(context, "recover").empty
    record.write_bytes(msgspec.json.encode({**fields, "snapshot": {**fields["snapshot"], "schemaId": 1}}))
    assert planned(context, "recover").empty
    assert about("branch fix", "gone", "main", "schemas").search(reasons(context))


def test_main_does_not_get_a_tag_that_its_schemas_do_not_fit(context: Context, orders: Path) -> None:
    branched(context)
    widen(context, "$branch_fix", "fix", "note STRING")
    done(context, "create-savepoint", branch="fix")
    done(context, "alter-branch-schema", add="other STRING")
    delete_branch(orders)
    assert planned(context, "recover").empty
    assert about("branch fix", "gone", "main", "schemas", "nothing keeps").search(reasons(context))
    with pytest.raises(NotFound, match=about("fix", "other schemas")):
        resolve_version(context.files, MAIN, "savepoint.1")


def test_main_does_not_get_a_tag_that_endangers_others(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Stock expiry spares what the nearest earlier tag holds: that would be the savepoint, not v2."""
    branched(context)
    replace_rows(warehouse, "$branch_fix")
    done(context, "create-savepoint", branch="fix")
    delete_branch(orders)
    assert planned(context, "recover").empty
    assert about("main", "stock expiry", "other tags", "(v2)").search(reasons(context))


def test_main_does_not_get_a_second_tag_of_one_id(context: Context, orders: Path) -> None:
    branched(context)
    done(context, "create-savepoint", branch="fix")
    done(context, "create-tag", name="mine", snapshot=3)
    delete_branch(orders)
    assert planned(context, "recover").empty
    assert "(mine)" in reasons(context)


def test_another_branch_of_the_name_does_not_get_the_tag(context: Context, orders: Path) -> None:
    branched(context)
    widen(context, "$branch_fix", "fix", "note STRING")
    done(context, "create-savepoint", branch="fix")
    delete_branch(orders)
    branched(context)
    done(context, "alter-branch-schema", branch="fix", add="other STRING")
    assert planned(context, "recover").empty
    assert about("fix", "other schemas").search(reasons(context))


def test_the_new_main_does_not_get_a_tag_of_the_archive(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """It was made on main, which is another branch now."""
    branched(context)
    done(context, "alter-branch-schema", branch="fix", add="note STRING")
    widen(context, "", None, "other STRING")
    done(context, "create-savepoint")
    done(context, "replace-main-branch", name="fix")
    [archive] = [name for name in branch_names(context.files, ORDERS) if name != "fix"]
    delete_branch(orders, archive)
    assert planned(context, "recover").empty
    assert about("fix", "other schemas").search(reasons(context))
