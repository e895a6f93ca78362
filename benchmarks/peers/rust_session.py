"""pypaimon-rust answering SQL. Runs in the environment that has it."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from benchmarks.peers.sql_session import answer_lines


def main() -> None:
    # Only the peer's environment has it, so mypy does not know its types.
    context = importlib.import_module("pypaimon_rust.datafusion").SQLContext()
    context.register_catalog("paimon", {"warehouse": sys.argv[1]}, default_database="")
    context.set_current_catalog("paimon")

    def query(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for batch in context.sql(sql) for row in batch.to_pylist()]

    answer_lines(query)


if __name__ == "__main__":
    main()
