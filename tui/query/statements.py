"""The statement that reads what a row stands for."""

from __future__ import annotations

from core.quoting import literal
from core.table.layout import MAIN
from tui.session import RowVersion, Target


def select_all(target: Target, version: RowVersion) -> str:
    """`SELECT *` of a version or a branch of the table in view."""
    if version.branch is not None:
        target = Target(target.table, None if version.branch == MAIN else version.branch)
    if version.version is None:
        return f"SELECT *\nFROM {target.sql_name}"
    return f"SELECT *\nFROM {target.sql_name} VERSION AS OF {literal(version.version)}"
