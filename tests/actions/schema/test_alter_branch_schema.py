"""A table's definition changes on one branch, by Paimon's rules; its rows stay."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.cli.main import run
from paimark.core.errors import Refused, UsageError
from paimark.core.statements.run import action_to_confirm
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.lineage.branches import branch_health
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import (
    EVENTS,
    ORDERS,
    Meanwhile,
    applied,
    codes,
    contents,
    context_on,
    done,
    item,
    planned,
    texts,
)
from tests.paimon import commit, open_table, read_rows
from tests.table.branches import create_branch
from tests.wording import about

ALTER = "alter-branch-schema"


def newest(context: Context, branch: str | None = None) -> TableSchema:
    schema = Lineage(context.files, ORDERS.root(branch)).latest_schema()
    assert schema is not None
    return schema


def columns(schema: TableSchema) -> list[tuple[int, str, object]]:
    return [(each.id, each.name, each.type) for each in schema.fields]


def reason(context: Context, /, **arguments: object) -> str:
    plan = planned(context, ALTER, ORDERS, **arguments)
    assert plan.refusals
    return plan.refusals[0].reason


def test_columns_come_and_go_and_ids_are_never_given_again(context: Context, warehouse: Path) -> None:
    done(context, ALTER, add="note STRING COMMENT 'it''s \\\\ why' AFTER customer, first DECIMAL(5,2) FIRST")
    schema = newest(context)
    assert (schema.id, schema.highest_field_id) == (1, 4)
    assert columns(schema) == [
        (4, "first", "DECIMAL(5, 2)"),
        (0, "order_id", "BIGINT NOT NULL"),
        (1, "customer", "STRING"),
        (3, "note", "STRING"),
        (2, "price", "DOUBLE"),
    ]
    assert schema.fields[3].description == "it's \\ why"
    done(context, ALTER, drop="note, first")
    done(context, ALTER, add="note INT")
    assert columns(newest(context))[-1] == (5, "note", "INT")
    row = {"order_id": [99], "customer": ["c"], "price": [1.0], "note": [7]}
    commit(warehouse, "shop.orders", pa.table(row, schema=_arrow(warehouse)))
    rows = {each["order_id"]: each for each in read_rows(warehouse, "shop.orders")}
    assert rows[99]["note"] == 7
    assert rows[1] == {"order_id": 1, "customer": "c1", "price": 11.0, "note": None}


def _arrow(warehouse: Path) -> pa.Schema:
    builder = open_table(warehouse, "shop.orders").new_batch_write_builder()
    return builder.new_write().table_pyarrow_schema


def test_a_change_is_of_its_branch_alone_and_keeps_expiry_off_there(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    before = contents(orders / "schema")
    plan = planned(
        context, ALTER, branch="b", rename="customer TO client", set="'write-buffer-size' = '64 mb'"
    )
    assert plan.summary == (
        "Alter b of shop.orders: rename column customer to client; set write-buffer-size to 64 mb"
    )
    outcome = applied(context, plan)
    assert outcome.result == {"schema_id": 1, "branch": "b"}
    schema = newest(context, "b")
    assert [each.name for each in schema.fields] == ["order_id", "client", "price"]
    assert RETENTION_OFF.items() <= schema.options.items()
    assert contents(orders / "schema") == before
    for option in RETENTION_OFF:
        assert about(option, "expiry", "branch").search(reason(context, branch="b", unset=f"'{option}'"))
        assert about(option, "expiry", "branch").search(reason(context, branch="b", set=f"{option} = 5"))
    assert planned(context, ALTER, branch="b", set=f"'{option}' = '{RETENTION_OFF[option]}'").empty
    create_branch(orders.parent.parent, "shop.orders", "stock", "v2")
    protecting = ", ".join(f"'{name}' = '{value}'" for name, value in RETENTION_OFF.items())
    assert planned(context, ALTER, branch="stock", set=protecting).undo == ""
    done(context, ALTER, branch="stock", set=protecting)
    assert branch_health(context.files, ORDERS.root("stock")) == "ok"
    done(context, ALTER, set="snapshot.num-retained.min = 5")
    assert newest(context).options["snapshot.num-retained.min"] == "5"


def test_main_is_the_branch_that_the_main_branch_file_names(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    done(context, "replace-main-branch", name="fix")
    assert done(context, ALTER, add="note STRING").result == {"schema_id": 1, "branch": "fix"}
    assert columns(newest(context, "fix"))[-1] == (3, "note", "STRING")
    assert not (orders / "schema/schema-1").exists()
    assert planned(context, "undo").arguments["undone"] == ALTER
    done(context, "undo")
    assert columns(newest(context, "fix"))[-1] == (2, "price", "DOUBLE")
    done(context, "undo")
    assert [each.id for each in Lineage(context.files, ORDERS.root()).schemas()] == [0]


@pytest.mark.parametrize(
    ("arguments", "column"),
    [
        ({"add": "note STRING"}, None),
        ({"rename": "customer TO client"}, None),
        ({"set": "'a.b' = 'c''d', 'bucket-x' = ''"}, None),
        ({"drop": "customer"}, "customer"),
        ({"add": "a INT", "rename": "price TO cost", "set": "x = 1"}, None),
    ],
)
def test_the_line_to_take_it_back_is_a_command_that_does(
    context: Context,
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: dict[str, object],
    column: str | None,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))
    before = newest(context)
    undo = done(context, ALTER, ORDERS, **arguments).undo
    if column is not None:
        assert undo == ""
        return
    words = shlex.split(undo)
    assert words[:2] == ["paimark", "undo"]
    assert run([*words[1:], "--yes", "--warehouse", str(warehouse)]) == 0
    after = newest(context)
    assert (after.fields, after.options) == (before.fields, before.options)
    assert after.id == before.id + 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"drop": "order_id"}, ("order_id", "primary key")),
        ({"rename": "order_id TO id"}, ("order_id", "primary key")),
        ({"widen": "order_id BIGINT"}, ("order_id", "key")),
        ({"nullable": "order_id"}, ("order_id", "null")),
        ({"drop": "custmer"}, ("no column custmer",)),
        ({"add": "x INT AFTER nothing"}, ("no column nothing",)),
        ({"add": "Price INT"}, ("column price", "already")),
        ({"rename": "price TO CUSTOMER"}, ("column customer", "already")),
        ({"add": "_KEY_x INT"}, ("engines",)),
        ({"add": "_value_kind INT"}, ("engines",)),
        ({"add": "__paimark_bucket INT"}, ("engines",)),
        ({"add": "`a\x1b[31m` INT"}, ("U+001B",)),
        ({"add": "`a\N{RIGHT-TO-LEFT OVERRIDE}b` INT"}, ("U+202E",)),
        ({"rename": "price TO `pr\N{ZERO WIDTH SPACE}ice`"}, ("U+200B",)),
        ({"rename": "price TO `pri\N{SOFT HYPHEN}ce`"}, ("U+00AD",)),
        ({"add": "`x\N{TAG LATIN SMALL LETTER A}` INT"}, ("U+E0061",)),
        ({"set": "'a\N{ZERO WIDTH SPACE}b' = '1'"}, ("U+200B",)),
        ({"add": "` ` INT"}, ("name", "blank")),
        ({"add": "`a.b` INT"}, ("a.b", "dot")),
        ({"add": f"{'x' * 201} INT"}, ("name", "200 bytes")),
        ({"add": "x STRUCT<a: INT>"}, ("columns", "own")),
        ({"add": "x ARRAY<INT>"}, ("columns", "own")),
        ({"add": "x TIMESTAMP(3)"}, ("TIMESTAMP(3)", "not", "type")),
        ({"add": "x DECIMAL(39, 2)"}, ("DECIMAL(39, 2)", "not", "type")),
        ({"widen": "price FLOAT"}, ("price", "FLOAT", "loss")),
        ({"widen": "price STRING"}, ("price", "STRING", "loss")),
        ({"set": "bucket = 4"}, ("bucket", "changed")),
        ({"set": "'merge-engine' = 'aggregation'"}, ("merge-engine", "changed")),
        ({"unset": "bucket"}, ("bucket", "changed")),
        ({"set": "'manifest.format' = 'orc'"}, ("manifest.format", "changed")),
        ({"set": "'partition.default-name' = 'x'"}, ("partition.default-name", "changed")),
        ({"set": "'partition.legacy-name' = 'false'"}, ("partition.legacy-name", "changed")),
        ({"set": "'snapshot.num-retained.min' = 'x'"}, ("whole number", "2147483647", "'x'")),
        ({"set": "'snapshot.num-retained.max' = '2147483648'"}, ("whole number", "2147483647")),
        ({"set": "'snapshot.num-retained.min' = '0'"}, ("snapshot.num-retained.min", "least 1", "0")),
        ({"set": "'snapshot.num-retained.min' = '-1'"}, ("snapshot.num-retained.min", "least 1", "-1")),
        ({"set": "'snapshot.num-retained.max' = '5'"}, ("(10)", "larger", "snapshot.num-retained.max (5)")),
        (
            {"set": "'snapshot.num-retained.min' = '9', 'snapshot.num-retained.max' = '8'"},
            ("(9)", "larger", "snapshot.num-retained.max (8)"),
        ),
        (
            {"set": "'changelog.num-retained.max' = '9'"},
            ("changelog.num-retained.min (10)", "larger", "changelog.num-retained.max (9)"),
        ),
        ({"set": "'snapshot.time-retained' = '-1 h'"}, ("length", "'-1 h'")),
        ({"set": "'snapshot.time-retained' = '2 weeks'"}, ("length", "'2 weeks'")),
        (
            {"set": "'snapshot.time-retained' = 'P1D'"},
            ("length", "'P1D'"),
        ),
        ({"set": "'write-only' = 'yes'"}, ("true", "false", "'yes'")),
        ({"set": "'target-file-size' = '128 megs'"}, ("size", "'128 megs'")),
        ({"set": "'tag.creation-period' = 'weekly'"}, ("daily, hourly, two-hours", "'weekly'")),
        ({"set": "'scan.fallback-branch' = 'zz'"}, ("shop.orders", "no branch zz")),
        ({"drop": "customer, price, order_id"}, ("order_id", "primary key")),
    ],
)
def test_what_would_break_the_table_is_refused_by_name(
    context: Context, orders: Path, arguments: dict[str, object], said: tuple[str, ...]
) -> None:
    before = contents(orders)
    plan = planned(context, ALTER, ORDERS, **arguments)
    assert about(*said).search(plan.refusals[0].reason)
    with pytest.raises(Refused):
        applied(context, plan)
    assert contents(orders) == before


def test_partitions_and_columns_that_options_name_stay(context: Context, orders: Path) -> None:
    for kind, text in (("drop", "day"), ("rename", "day TO d")):
        plan = planned(context, ALTER, EVENTS, **{kind: text})
        assert "is of partitions" in plan.refusals[0].reason
    assert "is a key" in planned(context, ALTER, table=EVENTS, widen="day STRING").refusals[0].reason
    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    for option, value in (
        ("sequence.field", "price, customer"),
        ("bucket-key", "customer"),
        ("rowkind.field", "customer"),
        ("fields.customer.aggregate-function", "max"),
        ("fields.price,customer.sequence-group", "x"),
        ("fields.price.sequence-group", "customer"),
        ("file-index.bloom-filter.columns", "price,customer"),
    ):
        changed = {**schema, "options": {**schema["options"], option: value}}
        (orders / "schema/schema-0").write_bytes(msgspec.json.encode(changed))
        assert about(option, "shop.orders", "customer", "dropped").search(reason(context, drop="customer"))
        renamed = reason(context, rename="customer TO client")
        assert about(option, "shop.orders", "customer", "renamed").search(renamed)


def test_types_grow_as_paimon_lets_them_and_stay_as_nullable_as_they_were(
    context: Context, orders: Path
) -> None:
    done(context, ALTER, add="i TINYINT, f REAL, d DECIMAL(5, 2), v VARCHAR(3), t timestamp, n TIMESTAMP_NTZ")
    done(context, ALTER, widen="i LONG, f DOUBLE, d DECIMAL(9,2), v VARCHAR(9)")
    assert [each.type for each in newest(context).fields][3:] == [
        "BIGINT",
        "DOUBLE",
        "DECIMAL(9, 2)",
        "VARCHAR(9)",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "TIMESTAMP(6)",
    ]
    for narrower in ("i INT", "f FLOAT", "d DECIMAL(9, 3)", "d DECIMAL(8, 2)", "v VARCHAR(8)", "v CHAR(9)"):
        assert "without loss" in reason(context, widen=narrower)
    path = orders / "schema/schema-2"
    path.write_bytes(path.read_bytes().replace(b'"VARCHAR(9)"', b'"VARCHAR(9) NOT NULL"'))
    done(context, ALTER, widen="v STRING")
    assert newest(context).fields[6].type == "STRING NOT NULL"
    done(context, ALTER, nullable="v")
    assert newest(context).fields[6].type == "STRING"


def test_nothing_to_change_is_nothing_done(context: Context, orders: Path) -> None:
    before = contents(orders)
    for arguments in (
        {"widen": "price DOUBLE"},
        {"drop": "IF EXISTS nothing"},
        {"unset": "nothing"},
        {"set": "bucket = '2'"},
        {"nullable": "price"},
    ):
        plan = planned(context, ALTER, ORDERS, **arguments)
        assert plan.empty and not plan.steps
        applied(context, plan)
    assert contents(orders) == before
    with pytest.raises(UsageError, match=about("no change", "schema")):
        planned(context, ALTER)
    with pytest.raises(UsageError, match=about("--add", "type", "missing", "(line 1, column 2)")):
        planned(context, ALTER, add="x")


def test_another_engine_that_was_faster_is_never_overwritten(context: Context, orders: Path) -> None:
    theirs = orders / "schema/schema-1"

    def stock() -> None:
        schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
        theirs.write_bytes(msgspec.json.encode({**schema, "id": 1, "comment": "theirs"}))

    plan = planned(context, ALTER, add="note STRING")
    racing = context_on(orders.parents[1], Meanwhile(context.files, "branch/ACTION", stock))
    with pytest.raises(Refused, match=about("plan")):
        applied(racing, plan)
    assert newest(context).comment == "theirs"
    assert not (orders / "branch/ACTION").exists()
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        applied(context, plan)
    done(context, ALTER, add="note STRING")
    assert (newest(context).id, newest(context).comment) == (2, "theirs")


def test_it_waits_for_who_holds_the_table(context: Context, orders: Path) -> None:
    (orders / "branch").mkdir(exist_ok=True)
    held: list[Plan] = []

    def try_too() -> None:
        held.append(planned(context, ALTER, drop="price"))

    racing = context_on(orders.parents[1], Meanwhile(context.files, "branch/ACTION", try_too))
    done(racing, ALTER, add="note STRING")
    assert about("held", "alter-branch-schema").search(held[0].refusals[0].reason)


def test_what_removes_wants_agreement_and_warns(context: Context) -> None:
    plan = planned(context, ALTER, drop="price")
    assert codes(plan) == ["column-hidden", "final", "jobs-restart"]
    [lost] = texts(plan, "loses")
    assert about("price", "newest rows", "snapshot 5", "empty").search(lost)
    assert about("rollback", "columns").search(item(plan, "final").text)
    assert (plan.ask.phrase, plan.take_back.how) == ("price", "never")
    assert planned(context, ALTER, add="x INT").ask.kind == "none"


def test_only_main_is_rolled_back(context: Context) -> None:
    done(context, "create-branch", name="b", tag="v2")
    plan = planned(context, ALTER, drop="price", branch="b")
    assert not about("rollback").search(item(plan, "final").text)


def called(sql: str) -> tuple[str, dict[str, object]]:
    call = action_to_confirm(read_statement(sql), "shop")
    assert call is not None
    assert call.action.name == ALTER
    return call.table.full_name, dict(call.arguments)


def test_alter_table_is_the_action(context: Context) -> None:
    for sql, arguments in (
        (
            "ALTER TABLE shop.`orders$branch_b` ADD COLUMNS (a INT COMMENT 'x', b decimal(5, 2) AFTER a);",
            {"branch": "b", "add": "a INT COMMENT 'x', b decimal(5, 2) AFTER a"},
        ),
        ("alter table orders add column `first` int first", {"add": "first int FIRST"}),
        ("ALTER TABLE shop.orders DROP COLUMN price", {"drop": "price"}),
        ("ALTER TABLE shop.orders DROP COLUMNS IF EXISTS (price, `a b`)", {"drop": "IF EXISTS price, `a b`"}),
        ("ALTER TABLE shop.orders RENAME COLUMN price TO `p``q`", {"rename": "price TO `p``q`"}),
        ("ALTER TABLE shop.orders ALTER COLUMN price TYPE double", {"widen": "price double"}),
        ("ALTER TABLE shop.orders CHANGE price TYPE double", {"widen": "price double"}),
        ("ALTER TABLE shop.orders ALTER COLUMN price DROP NOT NULL", {"nullable": "price"}),
        (
            "ALTER TABLE shop.orders SET TBLPROPERTIES ('a.b' = 'c', d-e.f = 5, g true)",
            {"set": "'a.b' = 'c', 'd-e.f' = '5', 'g' = 'true'"},
        ),
        ("ALTER TABLE shop.orders UNSET TBLPROPERTIES IF EXISTS ('a')", {"unset": "IF EXISTS 'a'"}),
    ):
        assert called(sql) == ("shop.orders", arguments)
        assert planned(context, ALTER, ORDERS, **{**arguments, "branch": None}) is not None
