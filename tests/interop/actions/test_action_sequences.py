"""Chains of actions and stock writes on every kind of table: each version keeps its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from tests.interop.chain import Chain
from tests.interop.chain_kinds import KINDS, K, P, Row, S, V, documented
from tests.interop.judge import Judge
from tests.long import long_but


def row(key: int, value: int, text: str | None = None) -> Row:
    return {K: key, V: value, S: text}


FIRST = [row(key, 10 + key, f"a{key}") for key in range(6)]
# A lower value comes later, and some texts are missing.
SECOND = [row(4, 3, "b4"), row(5, 30, None), row(6, 16, "b6"), row(7, 17)]
OF_MAIN = [row(2, 40, "m2"), row(3, 1, "m3"), row(20, 20, "m20")]
OF_BRANCH = [row(3, 50, "f3"), row(0, 51), row(30, 30, "f30")]
LATER = [row(2, 60, "l2"), row(40, 40, "l40")]


# Kinds that are similar to others, and run in long chains only.
LIKE_OTHERS = (
    "aggregation",
    "append",
    "append deletion vectors",
    "append in partitions",
    "append evolved",
    "append orc",
    "avro",
    "cross partition",
    "data evolution",
    "deletion vectors",
    "dynamic buckets",
    "evolved",
    "full compaction changelog",
    "input changelog",
    "lookup changelog",
    "orc",
    "partial update",
    "partitions",
    "postponed buckets",
    "primary key",
    "row tracking",
    "sequence field",
)
# The kinds whose short chains merge, through Spark. All long chains merge if their kind allows it.
MERGED = ("bucketed append",)


def chain_of(judge: Judge, context: Context, warehouse: Path, length: str, kind: str) -> Chain:
    return Chain(judge, context, warehouse, f"{length}_{kind.replace(' ', '_')}", KINDS[kind])


@pytest.mark.parametrize(
    "kind",
    long_but([kind for kind in KINDS if kind not in LIKE_OTHERS], "rows in no bucket yet"),
)
def test_a_branch_is_main_and_main_comes_back(
    judge: Judge, context: Context, engine_warehouse: Path, kind: str
) -> None:
    chain = chain_of(judge, context, engine_warehouse, "short", kind)
    begin(chain)
    both_sides(chain)
    if chain.kind.refused or chain.kind.unmerged or kind in MERGED:
        merge(chain)
    before = chain.now[None]
    chain.do("replace-main-branch", name="b")
    chain.check_session(fails=True)
    chain.put(LATER)
    chain.check()
    chain.do("undo")
    assert chain.now[None] == before
    chain.check_session()
    clean_up(chain)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_version_gives_its_rows_after_every_action(
    judge: Judge, context: Context, engine_warehouse: Path, kind: str
) -> None:
    chain = chain_of(judge, context, engine_warehouse, "long", kind)
    begin(chain)
    chain.check()
    both_sides(chain)
    chain.check()
    before = chain.now[None]
    merge(chain)
    chain.check()
    if not (chain.kind.refused or chain.kind.unmerged):
        chain.do("undo", main=before)
        chain.check()
    roll_back(chain)
    change_rows(chain)
    branch_as_main(chain)
    overwrite(chain)
    truncate(chain)
    clean_up(chain, looks_often=True)
    fast_forward(chain)
    expired_as_main(chain)


def begin(chain: Chain) -> None:
    chain.put(FIRST)
    chain.put(SECOND)
    chain.delete(1)
    chain.compact()
    chain.do("create-savepoint")
    if chain.kind.postpones:
        chain.put([row(50, 50, "nobody sees me")], postpones=True)
    chain.do("create-branch", name="b", tag="savepoint.1")


def both_sides(chain: Chain) -> None:
    if chain.kind.evolves:
        chain.alter("add", "n", "b", type="INT")
        chain.alter("rename", "s", "b", name="t")
        chain.alter("widen", "v", "b", type="BIGINT")
    chain.put(OF_BRANCH, "b")
    chain.delete(5, "b")
    chain.put(OF_MAIN)
    chain.do("create-tag", name="of-branch", branch="b")
    chain.open_session()


def merge(chain: Chain) -> None:
    kind = chain.kind
    if words := kind.refused or kind.unmerged:
        chain.refused("merge-branch", words, name="b", on_conflict="branch")
        return
    base = chain.rows_of(None, "tag-savepoint.1")
    merged = kind.merged(base, chain.now["b"], chain.now[None])
    chain.do("merge-branch", main=merged, name="b", on_conflict="branch")
    chain.check_session()


def roll_back(chain: Chain) -> None:
    """Roll back to a savepoint, and then to the one that this rollback made before it began."""
    before = chain.now[None]
    if chain.kind.refused:
        chain.refused("rollback", chain.kind.refused, to="savepoint.1")
        return
    outcome = chain.do("rollback", main=chain.rows_of(None, "tag-savepoint.1"), to="savepoint.1")
    chain.put(LATER)
    chain.check_session()
    chain.check()
    chain.do("rollback", main=before, to=f"savepoint.{outcome.result['savepoint_id']}")
    chain.check()


def change_rows(chain: Chain) -> None:
    """Rows are deleted, updated and merged, each is taken back, and files are compacted in between."""
    # Where rows wait for a bucket, it would give them one, and all that follows is about such rows.
    if chain.kind.compacts and not chain.kind.postpones:
        chain.do("compact", main=chain.now[None], full=True)
    main = chain.now[None]
    others = [each for each in main if each[K] != 2]
    changed = [{**each, V: each[V] + 100} for each in main if each[K] == 2]
    named = "k, v, t, p" if chain.kind.evolves else "k, v, s, p"
    inserted = {**dict.fromkeys(main[0]), **row(70, 70, "n"), P: 0}
    statements = {
        "DELETE FROM {} WHERE k = 2": others,
        "UPDATE {} SET v = v + 100 WHERE k = 2": [*others, *changed],
        "MERGE INTO {} t USING (SELECT * FROM VALUES (2, 70, 'n', 0), (70, 70, 'n', 0) AS y(k, v, s, p)) x "
        "ON t.k = x.k WHEN MATCHED THEN UPDATE SET v = t.v + 100 "
        f"WHEN NOT MATCHED THEN INSERT ({named}) VALUES (x.k, x.v, x.s, x.p)": [
            *others,
            *changed,
            inserted,
        ],
    }
    for sql, after in statements.items():
        if chain.refused_to_run(sql):
            continue
        chain.run(sql, tuple(after))
        chain.check()
        chain.do("compact", main=tuple(after))
        chain.do("undo", main=main)
        chain.check()


def branch_as_main(chain: Chain) -> None:
    """The branch becomes main and gets commits; the previous main stays whole, and becomes main again."""
    before = chain.now[None]
    chain.do("replace-main-branch", name="b")
    chain.check_session(fails=True)
    chain.check()
    chain.put(LATER)
    chain.compact()
    chain.put(OF_MAIN)
    chain.expire(by_options=True)
    chain.check()
    chain.do("undo")
    assert chain.now[None] == before
    chain.check_session()
    chain.check()


def overwrite(chain: Chain) -> None:
    before = chain.now[None]
    if chain.kind.refused:
        chain.refused("replace-main-branch", chain.kind.refused, name="b", layout="overwrite")
        return
    chain.do("replace-main-branch", main=chain.now["b"], name="b", layout="overwrite")
    chain.check_session()
    chain.check()
    chain.do("undo", main=before)
    chain.check()


def truncate(chain: Chain) -> None:
    before = chain.now[None]
    chain.do("rollback", to="savepoint.1", truncate=True)
    assert chain.now[None] == chain.rows_of(None, "tag-savepoint.1")
    chain.check()
    chain.do("undo")
    assert chain.now[None] == before
    chain.check()
    chain.do("rollback", to="savepoint.1", truncate=True)
    chain.put(LATER)
    chain.check()


def clean_up(chain: Chain, *, looks_often: bool = False) -> None:
    chain.compact()
    chain.expire()
    if looks_often:
        chain.check()
    if chain.kind.uncounted:
        chain.refused("expire-snapshots", chain.kind.uncounted, branch="b", retain_last=1)
        chain.refused("delete-branch", chain.kind.uncounted, name="b")
    else:
        chain.do("expire-snapshots", branch="b", retain_last=1)
        if looks_often:
            chain.check()
        assert chain.orphans() == []
    chain.check()


def fast_forward(chain: Chain) -> None:
    """Fast-forward main to another branch, and expire both."""
    chain.do("create-savepoint")
    chain.do("create-branch", name="ahead", tag=chain.newest_tag())
    chain.put(OF_BRANCH, "ahead")
    chain.put(OF_MAIN, "ahead")
    chain.do("merge-branch", name="ahead")
    assert chain.now[None] == chain.now["ahead"]
    chain.check()
    chain.put(LATER)
    chain.compact()
    chain.expire()
    # The branch shares snapshots with main, and the plan warns that they expire with main's.
    chain.check(whole=False)


def expired_as_main(chain: Chain) -> None:
    """A stock expiry with arguments on a branch that is main: tags and savepoints stay, as the plan says."""
    chain.do("replace-main-branch", name="b")
    chain.put(OF_MAIN)
    chain.do("create-savepoint")
    chain.put(LATER)
    chain.compact()
    chain.expire()
    chain.check(whole=False)


def test_the_documentation_says_what_works_on_each_kind() -> None:
    text = (Path(__file__).parents[3] / "docs" / "tables.md").read_text()
    missing = [line for kind in KINDS if (line := documented(kind, KINDS[kind])) not in text.splitlines()]
    assert not missing, "docs/tables.md lacks:\n" + "\n".join(missing)
