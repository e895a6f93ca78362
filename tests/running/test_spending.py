"""A run says what it cost."""

from __future__ import annotations

import gc

from tests.running.spending import as_lines, said

_SECONDS = {"tests/a.py::test_one[x]": 0.25, "tests/b.py::test_two": 3.0, "tests/a.py::test_one[y]": 4.0}


def test_the_longest_test_and_the_longest_file_come_first() -> None:
    assert as_lines(_SECONDS).splitlines()[0] == "4.00\ttests/a.py::test_one[y]"
    assert said(_SECONDS).endswith("together: tests/a.py 4 s, tests/b.py 3 s.")


def test_garbage_is_collected_while_tests_run() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count()
