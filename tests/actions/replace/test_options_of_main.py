"""Main is replaced whose options have engines make tags by themselves, or read another branch with it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from paimark.core.table.lineage.main_branch import branch_names
from tests.actions.acting import ORDERS, Meanwhile, applied, codes, context_on, done, item, planned
from tests.actions.taking_over import add, branched
from tests.paimon import open_table
from tests.wording import about

ACTION = "replace-main-branch"


@pytest.mark.parametrize(("tag", "stays"), [("2026-05-01", False), ("mine", False), ("made there", True)])
def test_an_archive_that_is_taken_back_does_not_stay_for_what_main_lost(
    context: Context, warehouse: Path, orders: Path, tag: str, stays: bool
) -> None:
    """It would be a branch with a tag whose files are gone. A tag that somebody made there stays."""
    if not stays:
        open_table(warehouse, "shop.orders").create_tag(tag, 3)
    branched(context)
    plan = planned(context, ACTION, name="fix")
    archive = orders / f"branch/branch-{plan.arguments['archive']}"

    def an_engine_commits() -> None:
        add(context, "shop.orders", 200)
        if stays:
            (archive / f"tag/tag-{tag}").write_bytes((orders / "snapshot/snapshot-3").read_bytes())
        else:
            (orders / f"tag/tag-{tag}").unlink()

    files = Meanwhile(context.files, f"{archive.name}/snapshot/LATEST", an_engine_commits)
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        applied(context_on(warehouse, files), plan)

    assert len(branch_names(context.files, ORDERS)) == 1 + stays


def test_the_plan_says_that_engines_make_no_tags_on_a_branch(context: Context, orders: Path) -> None:
    branched(context)
    assert "automatic-tags" not in codes(planned(context, ACTION, name="fix"))
    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    schema["options"]["tag.automatic-creation"] = "process-time"
    (orders / "schema/schema-0").write_bytes(msgspec.json.encode(schema))
    assert "automatic-tags" in codes(planned(context, ACTION, name="fix"), "affects")


def test_the_plan_says_that_rows_of_a_third_branch_are_not_read_any_more(
    context: Context, orders: Path
) -> None:
    branched(context)
    done(context, "create-branch", name="old", tag="v2")
    assert "read-along" not in codes(planned(context, ACTION, name="fix"))
    done(context, "alter-branch-schema", set="scan.fallback-branch = old")
    said = item(planned(context, ACTION, name="fix"), "read-along").text
    assert about("readers of main", "branch old", "scan.fallback-branch", "fix not").search(said)
