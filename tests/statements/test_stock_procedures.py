"""Each procedure of Paimon's Spark is ours, with its arguments' names, or says what to use instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paimark.core.errors import StatementFailed
from paimark.core.statements.call import STOCK_NAMES, STOCK_REFUSED, action_of_call
from paimark.core.travel.parse.sql import read_statement

PAGE = (Path(__file__).parents[2] / "docs/tables.md").read_text()
# The keys of `SparkProcedures` in Paimon's sources, in their order.
STOCK = re.findall(
    r"\w+",
    """rollback rollback_to_timestamp rollback_to_watermark purge_files create_tag replace_tag rename_tag
create_tag_from_timestamp delete_tag expire_tags create_branch create_global_index drop_global_index
delete_branch rename_branch compact materialize_deletion_vectors compact_database compact_chain_table rescale
migrate_database migrate_table remove_orphan_files remove_unexisting_files expire_snapshots expire_partitions
repair repair_earliest_snapshot fast_forward merge_branch reset_consumer mark_partition_done compact_manifest
clear_consumers alter_view_dialect create_function alter_function drop_function
trigger_tag_automatic_creation rewrite_file_index copy reassign_row_id""",
)


def test_each_has_one_answer() -> None:
    assert len(STOCK) == 42
    assert sorted([*STOCK_NAMES, *STOCK_REFUSED]) == sorted(STOCK)


def test_the_page_says_the_answer_of_each() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `sys.")]
    assert rows == [f"| `sys.{name}` | {_answer(name)} |" for name in STOCK]


def _answer(name: str) -> str:
    if name in STOCK_REFUSED:
        return STOCK_REFUSED[name]
    renamed = ", ".join(f"`{stock}` is `{ours}`" for stock, ours in STOCK_NAMES[name].items())
    return f"Paimark's own. {renamed}".rstrip(". ") + "."


@pytest.mark.parametrize("name", STOCK_REFUSED)
def test_one_that_is_not_here_says_what_to_use(name: str) -> None:
    with pytest.raises(StatementFailed) as error:
        action_of_call(read_statement(f"CALL sys.{name}('shop.orders')"))
    assert error.value.message.startswith(f"Paimark does not have sys.{name} of Paimon's Spark")
    assert error.value.hint == STOCK_REFUSED[name]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("rollback(table => 't', version => '5')", {"to": "snapshot.5"}),
        ("rollback(table => 't', snapshot => 5)", {"to": "snapshot.5"}),
        ("rollback(table => 't', tag => 'v5')", {"to": "v5"}),
        ("rename_tag(table => 't', tag => 'a', target_tag => '7')", {"name": "a", "to": "7"}),
        (
            "create_tag(table => 't', tag => 'a', snapshot => 2, time_retained => '1 d')",
            {"name": "a", "snapshot": 2, "retain": "1 d"},
        ),
        ("create_branch(table => 't', branch => 'b', tag => 'a')", {"name": "b", "tag": "a"}),
        (
            "reset_consumer(table => 't', consumerId => 'job', nextSnapshotId => 4)",
            {"name": "job", "snapshot": 4},
        ),
        ("merge_branch(table => 't', source_branch => 'b', target_branch => 'main')", {"name": "b"}),
        ("compact(table => 't', partitions => 'day=1')", {"partition": "day=1"}),
    ],
)
def test_ours_take_the_names_of_its_arguments(call: str, arguments: dict[str, object]) -> None:
    called = action_of_call(read_statement(f"CALL sys.{call}"), "shop").arguments
    assert {name: value for name, value in called.items() if name in arguments} == arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("create_branch('t', branch => 'b', ignoreIfExists => 'true')", "has no ignoreifexists"),
        ("expire_snapshots(table => 't', retain_max => 5)", "has no retain_max"),
        ("compact(table => 't', order_by => 'a')", "has no order_by"),
        ("merge_branch(table => 't', source_branch => 'b', target_branch => 'x')", "main only, not into x"),
        ("rollback(table => 't', tag => 'a', snapshot => 5)", "to is given twice"),
    ],
)
def test_what_ours_do_not_take_is_refused_by_name(call: str, message: str) -> None:
    with pytest.raises(StatementFailed, match=message):
        action_of_call(read_statement(f"CALL sys.{call}"), "shop")
