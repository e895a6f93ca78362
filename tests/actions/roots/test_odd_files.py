"""Files and names that no writer of Paimon makes."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.cli.main import run
from paimark.core.errors import Corrupt
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, done, planned, refused
from tests.actions.taking_over import branched
from tests.faults import damage
from tests.faults.fault_files import Death, FaultFiles
from tests.wording import about

ODD = os.fsdecode(b"\xff")


def without_field(path: Path, *field: str) -> None:
    """Write a list or manifest as if its writer did not know the field."""
    wanted = f"without {field}"
    path.write_bytes(next(each.data() for each in damage.of_avro(path.read_bytes()) if each.name == wanted))


@pytest.mark.parametrize("field", ["_FILE_SIZE", "_FILE_NAME", "_SCHEMA_ID"])
def test_no_savepoint_is_made_of_a_list_that_lacks_a_field(
    context: Context, orders: Path, field: str
) -> None:
    latest = Lineage(context.files, ORDERS.root()).snapshot(5)
    without_field(orders / "manifest" / latest.base_manifest_list, field)
    with pytest.raises(Corrupt, match=about("no field", field)):
        done(context, "create-savepoint")
    assert SavepointManager(context.files, ORDERS).ids() == []
    assert not (orders / "tag/tag-savepoint.1").exists()


def test_hints_of_too_many_digits_say_nothing(context: Context, orders: Path) -> None:
    for hint in ("snapshot/EARLIEST", "snapshot/LATEST", "savepoint/LATEST"):
        (orders / hint).parent.mkdir(exist_ok=True)
        (orders / hint).write_text(damage.DIGITS)
    assert done(context, "create-savepoint").result["savepoint_id"] == 1
    done(context, "expire-snapshots", retain_last=2)
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [4, 5]
    assert (orders / "snapshot/EARLIEST").read_text() == "4"


def test_names_that_are_not_utf_8_hide_nothing_else(
    orders: Path, warehouse: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    for source, name in (("snapshot-1", "snapshot/snapshot-"), ("snapshot-2", "tag/tag-")):
        shutil.copy(orders / "snapshot" / source, orders / (name + ODD))
    for name in ("consumer/consumer-", "savepoint/savepoint-"):
        (orders / name).parent.mkdir()
        (orders / (name + ODD)).write_text("{}")
    shutil.copytree(orders / "schema", orders / f"branch/branch-{ODD}/schema")
    shutil.copytree(orders / "schema", warehouse / f"shop.db/{ODD}/schema")
    (warehouse / f"{ODD}.db").mkdir()
    faults = []
    for words in (
        ["tables"],
        *([each, "shop.orders"] for each in ("snapshots", "savepoints", "branches", "tags", "schemas")),
        ["create-savepoint", "shop.orders", "--dry-run"],
        ["expire-snapshots", "shop.orders", "--retain-last", "2", "--dry-run"],
        ["delete-tag", "shop.orders", "--name", "v2", "--dry-run"],
        ["delete-tag", "shop.orders", "--name", ODD, "--dry-run"],
        ["create-savepoint", "shop.orders", "--comment", ODD],
        ["tags", f"shop.{ODD}"],
        ["sql", f"SELECT '{ODD}'"],
    ):
        for form in ("table", "json"):
            code = run([*words, "--output", form])
            told = capsys.readouterr()
            faults += [f"{words}: {told.err}"] if about("PAIMARK_DEBUG=1").search(told.err) else []
            if words[1:] == ["shop.orders"]:
                assert code == 0, told.err
    assert faults == []


LONG = "a" * 300_000
CONTROL = [
    *("branch/MAIN-BRANCH", "branch/ACTION", "snapshot/snapshot-5", "schema/schema-0", "tag/tag-v2"),
    *("savepoint/savepoint-1", "savepoint/CLAIM-9", "branch/operations/operation-1", "snapshot/LATEST"),
]


@pytest.mark.parametrize("name", CONTROL)
def test_a_damaged_file_is_never_quoted_at_length(
    context: Context, orders: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    done(context, "create-savepoint")
    path = orders / name
    whole = path.read_bytes() if path.exists() else b'{"version": 3}'
    for text in (LONG, f'"{LONG}"', f'{{"{LONG}": 1}}', _with_long_texts(whole)):
        path.write_text(text)
        for words in (
            ["doctor", "shop.orders"],
            ["create-tag", "shop.orders", "--name", "n", "--dry-run"],
            ["recover", "shop.orders"],
        ):
            run([*words, "--warehouse", str(orders.parent.parent)])
            out, err = capsys.readouterr()
            assert len(out) < 20_000, (words, text[:20])
            assert len(err) < 10_000, (words, text[:20])


def _with_long_texts(data: bytes) -> str:
    """The same JSON object with every text in it a long one; another file as a long text."""
    try:
        fields = json.loads(data)
    except ValueError:
        return LONG
    if not isinstance(fields, dict):
        return LONG
    return json.dumps({key: LONG if isinstance(value, str) else value for key, value in fields.items()})


@pytest.mark.parametrize("name", ["consumer/consumer-", "snapshot/.snapshot-5."])
def test_a_root_with_a_name_that_is_not_utf_8_is_not_moved(context: Context, orders: Path, name: str) -> None:
    branched(context)
    (orders / "consumer").mkdir()
    (orders / (name + ODD)).write_text("{}")
    [reason] = refused(planned(context, "replace-main-branch", name="fix"))
    assert about(rf"/{name}\xff", "name", "UTF-8").search(reason)
    os.rename(orders / (name + ODD), orders / f"branch/branch-fix/schema/it{ODD}")
    [reason] = refused(planned(context, "delete-branch", name="fix"))
    assert about(r"/it\xff", "name", "UTF-8").search(reason)


def test_recovery_leaves_the_names_of_others_where_they_are(context: Context, orders: Path) -> None:
    """What only begins like the name of a change's file is not one."""
    died = replace(context, files=FaultFiles(context.files, 6))
    with pytest.raises(Death):
        done(died, "create-branch", name="fix", tag="v2")
    (orders / "consumer").mkdir()
    token = 32 * "a"
    odd = [f"branch/STEP-x{ODD}", f"branch/ALIVE-{token}{ODD}", f"consumer/consumer-paimark-{token}{ODD}"]
    for name in odd:
        (orders / name).write_text("{}")
    done(context, "recover")
    assert all((orders / name).exists() for name in odd)
    assert planned(context, "recover").empty
