"""`paimark demo`."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paimark.core.cli.demo import STORY
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event
from tests.cli.command import CommandResult, Paimark, program
from tests.cli.shared_engine import Shared
from tests.wording import about


def test_a_demo_that_is_not_opened_says_where_it_is_and_what_to_try(
    paimark: Paimark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "it's here"
    ran = paimark("demo", place, "--no-open")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert about("demo warehouse", place).search(lines[0])
    assert lines[1 : 1 + len(STORY)] == list(STORY)
    tried = [shlex.split(line) for line in lines[lines.index("Try:") + 1 :]]
    assert tried[0] == ["paimark", str(place)]
    assert tried[1] == ["export", f"PAIMARK_WAREHOUSE={place}"]
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(place))
    for words in tried[2:]:
        assert words[0] == "paimark"
        if words[1] == "sql":
            assert words[2].startswith("SELECT ")
        else:
            assert paimark(*words[1:]).code == 0


def test_the_default_place_is_here_and_json_names_it(
    paimark: Paimark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = paimark("demo", "--no-open", "--output", "json")
    assert ran.rows == [{"warehouse": str(tmp_path / "paimark-demo")}]
    (savepoint,) = paimark(
        "savepoints", "shop.orders", "--warehouse", "paimark-demo", "--output", "json"
    ).rows
    assert savepoint["savepoint_id"] == 1


@pytest.mark.parametrize("words", [["--dry-run"], ["--read-only"]])
def test_a_dry_run_and_read_only_mode_build_nothing(
    paimark: Paimark, tmp_path: Path, words: list[str]
) -> None:
    place = tmp_path / "demo"
    ran = paimark("demo", place, *words)
    assert ran.code == (0 if words == ["--dry-run"] else 1)
    assert not place.exists()


def test_an_earlier_demo_is_opened_as_it_is(paimark: Paimark, demo: Path) -> None:
    place = demo
    assert paimark("create-savepoint", "shop.orders", "--warehouse", place).code == 0
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    for words in ([], ["--no-open"], ["--read-only"], ["--dry-run"]):
        ran = paimark("demo", place, *words)
        assert (ran.code, str(place) in ran.out, "as it" in ran.out) == (0, True, True)
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_fresh_asks_before_it_builds_anew(paimark: Paimark, tmp_path: Path) -> None:
    place = tmp_path / "demo"
    assert paimark("demo", place, "--no-open", "--fresh").code == 0
    assert paimark("create-savepoint", "shop.orders", "--warehouse", place).code == 0
    asked = paimark("demo", place, "--no-open", "--fresh")
    assert asked.code == 1
    assert "This needs --yes" in asked.err
    (plan,) = paimark("demo", place, "--fresh", "--dry-run", "--output", "json").rows
    assert "2 savepoints" in str(plan["kept"])
    assert [row["savepoint_id"] for row in savepoints(paimark, place)] == [1, 2]
    done = paimark("demo", place, "--no-open", "--fresh", "--yes")
    assert done.code == 0 and about("built", "demo", place, "anew").search(done.out.splitlines()[0])
    assert [row["savepoint_id"] for row in savepoints(paimark, place)] == [1]


def savepoints(paimark: Paimark, place: Path) -> Any:
    return paimark("savepoints", "shop.orders", "--warehouse", place, "--output", "json").rows


def test_another_directory_is_refused(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("demo", warehouse, "--no-open")
    assert (ran.code, ran.out) == (1, "")
    assert "not empty" in ran.err
    assert paimark("tables", "--warehouse", warehouse).code == 0


@pytest.mark.long
def test_the_tour_starts_a_spark(tmp_path: Path) -> None:
    made_the_tour(program("demo", tmp_path / "demo", environment={"XDG_STATE_HOME": str(tmp_path)}))


def test_without_a_terminal_the_tour_makes_a_savepoint_and_reads_it_back_with_spark(
    paimark: Paimark, engine: Engine, engine_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suite's, in whose warehouse the demo's database has another name."""
    place = tmp_path / "demo"

    class There(Shared):
        def run(self, sql: str, **given: Any) -> Iterator[Event]:
            shutil.copytree(place / "shop.db", engine_warehouse / "toured.db")
            return super().run(sql.replace("shop.", "toured."), **given)

    monkeypatch.setattr("paimark.core.cli.query.answering.Engine", lambda *given: There(engine))
    made_the_tour(paimark("demo", place))


def made_the_tour(ran: CommandResult) -> None:
    assert ran.code == 0, ran.err
    assert "$ paimark create-savepoint shop.orders" in ran.err
    assert "orders: savepoint.2" in ran.err
    assert "Saved snapshot 18 of shop.orders as savepoint 2" in ran.out
    rows = [line.split() for line in ran.out.splitlines() if line.strip()[:1].isdigit()][1:]
    assert len(rows) == 10
    for row in rows:
        assert float(row[-2]) == -float(row[-1]) < 0
