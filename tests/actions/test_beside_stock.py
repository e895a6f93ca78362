"""Plans say where another engine may overwrite the commit that they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.statements.insert import action_of_insert
from paimark.core.storage.files import Files
from paimark.core.storage.open import keeps_from_stock, open_files
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import codes, contents, context_on, done, item, planned
from tests.actions.taking_over import branched

CODE = "stock-overwrites"


def in_memory(warehouse: Path, name: str) -> Context:
    """The warehouse in an object store."""
    files: Files = open_files(f"memory://{name}/warehouse")
    for path, data in contents(warehouse).items():
        files.create(path, data)
    return context_on(warehouse, files)


def insert(context: Context, words: str) -> Plan:
    call, inserts = action_of_insert(read_statement(f"INSERT {words} shop.orders VALUES (1, 'a', 1.0)"))
    return inserts.plan(context, call.table, {})


def test_each_plan_of_a_commit_says_so(context: Context, warehouse: Path, tmp_path: Path) -> None:
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    there = in_memory(warehouse, tmp_path.name)
    plans = [
        insert(there, "INTO"),
        insert(there, "OVERWRITE"),
        planned(there, "rollback", to="v2"),
        planned(there, "merge-branch", name="fix"),
        planned(there, "replace-main-branch", name="fix", layout="overwrite"),
    ]
    done(there, "merge-branch", name="fix")
    plans.append(planned(there, "undo"))
    assert [CODE in codes(each) for each in plans] == [True] * 6
    text = item(plans[0], CODE).text
    assert text.startswith("pypaimon ") and "`paimark verify shop.orders` tells afterwards" in text
    # A change without a commit of rows, and a store that keeps commits.
    assert CODE not in codes(planned(there, "create-savepoint"))
    assert CODE not in codes(insert(context, "INTO"))


@pytest.mark.parametrize(
    ("uri", "keeps"), [("/w", True), ("file:///w", True), ("hdfs://n/w", True), ("s3://b/w", False)]
)
def test_a_store_keeps_a_commit_where_a_rename_fails_on_one(uri: str, keeps: bool) -> None:
    assert keeps_from_stock(uri) is keeps
