"""After every change of a table one engine, which remembers much of it, reads what stock Paimon reads anew.

The table has the same name for all seeds: each begins where the last one left files, plans and bits.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import LOCAL_BYTES, SCAN
from paimark.core.spark.protocol import Failed
from tests.actions.acting import context_on
from tests.interop.judge import Judge, JudgeError
from tests.spark.engine_fixture import ask
from tests.spark.generated_tables import Target
from tests.spark.one_session.history import ONLY, History
from tests.spark.one_session.questions import QUESTIONS, everything, number
from tests.spark.one_session.versions import Version
from tests.spark.test_differential import ZONES, alive, judge_question

# What a table is taken through in each run: ids, names of files and tables that come again.
_SCRIPT = [
    *(
        "commit",
        "commit",
        "tag",
        "compact",
        "back_up",
        "commit",
        "alter",
        "commit",
        "restore",
        "commit",
        "commit",
    ),
    *(
        "make_twin",
        "commit",
        "swap_with_twin",
        "branch",
        "replace_main",
        "commit",
        "undo",
        "truncate",
        "commit",
    ),
    *("create_anew", "commit", "commit"),
]
_STEPS, _VERSIONS, _TURNS = 40, 3, 4
# By the name of a column or an option.
_REFUSED = re.compile(r"fails: (Column \S|A value in older files of \S|\S+ has the option \S)")


@pytest.mark.long
def test_what_is_remembered_is_of_no_other_state(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    history = start_history(0, engine, engine_warehouse, judge, tmp_path)
    tally = ask_after(history, _SCRIPT, engine, versions=1, more=0)
    assert tally["native"] > len(_SCRIPT)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        seeds = range(int(os.environ.get("PAIMARK_SESSIONS", _TURNS)) * len(ONLY))
        names = [f"{seed} {' '.join(ONLY[seed % len(ONLY)])}" for seed in seeds]
        metafunc.parametrize("seed", seeds, ids=names)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_after_every_change_each_version_is_what_stock_reads(
    seed: int, engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    history = start_history(seed, engine, engine_warehouse, judge, tmp_path)
    assert ask_after(history, [None] * _STEPS, engine, versions=_VERSIONS, more=3)["answers"]


def start_history(seed: int, engine: Engine, warehouse: Path, judge: Judge, scratch: Path) -> History:
    context = replace(context_on(warehouse), audit_path=scratch / "audit", engine=lambda: engine)
    return History(seed, warehouse, judge, context, engine, scratch / "backup", retypes=seed % 5 == 1)


def ask_after(
    history: History, steps: Sequence[str | None], engine: Engine, *, versions: int, more: int
) -> Counter[str]:
    """How many answers there were, and of what kind. Raises `AssertionError` with the history.

    After each step, None for any, so many `versions` besides main's newest are asked `more` questions.
    """
    tally: Counter[str] = Counter()
    random = Random(f"questions of {history.table.seed}")
    try:
        for step in steps:
            tally[history.step(step).partition(":")[0]] += 1
            if step is None and random.random() < 0.1:
                _change_settings(random, engine)
            for version in history.versions(versions):
                _judge(random, history, version, engine, tally, more)
    except Exception as error:
        error.add_note("\n".join([f"seed {history.table.seed}", *history.story]))
        raise
    finally:
        for setting in (SCAN, LOCAL_BYTES, "spark.sql.session.timeZone"):
            assert ask(engine, f"RESET {setting}").finish
        history.end()
    return tally


def _judge(
    random: Random, history: History, version: Version, engine: Engine, tally: Counter[str], more: int
) -> None:
    columns = version.columns
    try:
        rows = alive(Target(version.judged, columns), history.rows(version))
    except JudgeError as error:
        # Values of older files that it can't convert, mostly.
        tally[f"stock fails: {re.sub('[0-9]+', 'N', str(error))[:60]}"] += 1
        return
    # The whole once more with each step: where the text is the same a plan may be kept.
    chosen = [everything, number, *random.sample(QUESTIONS, more)]
    faults = []
    for make in chosen:
        question = make(random, version.sql, columns, rows)
        answer = judge_question(engine, question)
        tally["answers"] += 1
        tally["native" if answer.is_native else "not native"] += 1
        if _REFUSED.search(answer.fault):
            tally["refused by name"] += 1
        elif answer.fault:
            faults.append(answer.fault)
    assert not faults, "\n".join([str(version), *faults])


def _change_settings(random: Random, engine: Engine) -> None:
    setting, value = random.choice(
        [
            (SCAN, random.choice(["auto", "auto", "library", "library"])),
            (LOCAL_BYTES, random.choice(["0", str(1 << 30)])),
            ("spark.sql.session.timeZone", random.choice(ZONES)),
        ]
    )
    assert not isinstance(ask(engine, f"SET {setting}={value}").end, Failed)
