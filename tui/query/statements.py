"""The statement that reads the version of a row."""

from __future__ import annotations

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.quoting import literal
from paimark.core.table.layout import MAIN
from paimark.tui.session import Target


def select_all(target: Target, version: RowVersion) -> str:
    """`SELECT *` from a version or a branch of the target's table."""
    if version.branch is not None:
        target = Target(target.table, None if version.branch == MAIN else version.branch)
    if version.version is None:
        return f"SELECT *\nFROM {target.sql_name}"
    return f"SELECT *\nFROM {target.sql_name} VERSION AS OF {literal(version.version)}"
