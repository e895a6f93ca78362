"""A plan that removes a root is refused when the root holds anything that the plan did not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.errors import Refused
from tests.actions.acting import ORDERS, applied, contents, done, planned
from tests.actions.taking_over import branched
from tests.wording import about

Deed = Callable[[Context, Path, str | None], object]


def tag(context: Context, root: Path, branch: str | None) -> None:
    done(context, "create-tag", name="release", branch=branch)


def savepoint(context: Context, root: Path, branch: str | None) -> None:
    done(context, "create-savepoint", branch=branch)


def same_tag_elsewhere(context: Context, root: Path, branch: str | None) -> None:
    (root / "tag/tag-there").write_bytes(min((root / "snapshot").glob("snapshot-*")).read_bytes())


def consumer(context: Context, root: Path, branch: str | None) -> None:
    (root / "consumer").mkdir()
    (root / "consumer/consumer-job").write_text('{"nextSnapshot": 3}')


def changelog(context: Context, root: Path, branch: str | None) -> None:
    (root / "changelog").mkdir()
    (root / "changelog/changelog-1").write_bytes(next((root / "snapshot").glob("snapshot-*")).read_bytes())


def schema(context: Context, root: Path, branch: str | None) -> None:
    done(context, "alter-branch-schema", add="note STRING", branch=branch)


DEEDS = (tag, savepoint, same_tag_elsewhere, consumer, changelog, schema)


def delete_branch(context: Context) -> tuple[Plan, str | None]:
    branched(context)
    done(context, "create-tag", name="there", branch="fix")
    return planned(context, "delete-branch", name="fix"), "fix"


def retire_branch(context: Context) -> tuple[Plan, str | None]:
    branched(context)
    done(context, "create-tag", name="there", branch="fix")
    return planned(context, "delete-branch", name="fix", keep=True), "fix"


def undo_retirement(context: Context) -> tuple[Plan, str | None]:
    branched(context)
    done(context, "create-tag", name="there", branch="fix")
    retired = done(context, "delete-branch", name="fix", keep=True).result["retired_as"]
    return planned(context, "undo"), str(retired)


def drop_main(context: Context) -> tuple[Plan, str | None]:
    branched(context)
    done(context, "create-tag", name="there")
    return planned(context, "replace-main-branch", name="fix", drop_previous=True), None


def keep_main(context: Context) -> tuple[Plan, str | None]:
    branched(context)
    done(context, "create-tag", name="there")
    return planned(context, "replace-main-branch", name="fix"), None


def undo_replacement(context: Context) -> tuple[Plan, str | None]:
    done(context, "create-tag", name="there")
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    return planned(context, "undo"), str(archive)


def undo_truncation(context: Context) -> tuple[Plan, str | None]:
    done(context, "create-tag", name="there")
    archive = done(context, "rollback", to="v2", truncate=True).result["archive"]
    return planned(context, "undo"), str(archive)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize(
    "plan",
    (
        delete_branch,
        retire_branch,
        undo_retirement,
        drop_main,
        keep_main,
        undo_replacement,
        undo_truncation,
    ),
)
def test_what_came_since_the_plan_is_not_removed(
    context: Context, orders: Path, plan: Callable[[Context], tuple[Plan, str | None]], deed: Deed
) -> None:
    made, branch = plan(context)
    root = ORDERS.root(branch)
    deed(context, Path(context.files.uri, root.directory), branch)
    before = contents(orders)
    with pytest.raises(Refused, match=r"\bplan\b|\bmoved\b"):
        applied(context, made)
    assert contents(orders) == before


def test_what_another_engine_left_hollow_is_looked_at_again(context: Context, orders: Path) -> None:
    """A branch directory that held nothing when the plan was made."""
    (orders / "branch/branch-hollow/schema").mkdir(parents=True)
    plan = planned(context, "delete-branch", name="hollow")
    (orders / "branch/branch-hollow/schema/schema-0").write_bytes((orders / "schema/schema-0").read_bytes())
    with pytest.raises(Refused, match=about("plan")):
        applied(context, plan)
