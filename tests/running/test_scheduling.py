"""Tests that need the same Java go to the same process."""

from __future__ import annotations

import pytest

from tests.running.scheduling import ACTIONS, ANOTHER_SPARK, NO_SPARK, QUERIES, kind_of


@pytest.mark.parametrize(
    ("file", "fixture", "role"),
    [
        ("tests/actions/merge/test_a.py", "engine: Engine", ACTIONS),
        ("tests/spark/native/test_a.py", "engine: Engine", QUERIES),
        ("tests/spark/native/test_a.py", "engine: Engine, spark_here: Spark", ANOTHER_SPARK),
        ("tests/spark/writing/test_a.py", 'usefixtures("spark_of_library")', ANOTHER_SPARK),
        ("tests/faults/test_a.py", "engine: Engine, mortal: Engine", QUERIES),
        ("tests/interop/actions/test_a.py", "context: Context, judge: Judge", ACTIONS),
        ("tests/interop/actions/test_a.py", "judge: Judge", NO_SPARK),
        ("tests/actions/merge/test_a.py", "context: Context", NO_SPARK),
        ("tests/spark/repair/test_a.py", 'engine: Engine\n    about("streaming", "main")', ACTIONS),
    ],
)
def test_a_file_goes_to_the_process_that_has_its_fixtures(file: str, fixture: str, role: str) -> None:
    assert kind_of(file, f"def test_a({fixture}) -> None:") == role
