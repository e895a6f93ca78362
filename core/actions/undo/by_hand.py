"""What a person can do to take rows back that `undo` does not, because others have committed since."""

from __future__ import annotations

from paimark.core.actions.rewrite.spark_rewrite import saved
from paimark.core.quoting import quoted_if_needed, shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import RowsEdit
from paimark.core.table.lineage.forks import Side


def by_hand(files: Files, table: TablePath, edit: RowsEdit, *, is_main: bool) -> str:
    """A sentence with the command that gives the root the rows from before the change."""
    root, before = table.root(edit.root), edit.before
    name = table.name if is_main else f"{table.name}$branch_{root.label}"
    name = f"{quoted_if_needed(table.database)}.{quoted_if_needed(name)}"
    if before is None:
        command = _sql(f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE false")
        return f"{command} takes all rows out, also what came since."
    kept = saved(files, root, before.id)
    if kept is None and Side(files, root).record(before.id) is None:
        return f"Snapshot {before.id}, from before it, has expired: roll back to another version."
    version = f"snapshot.{before.id}" if kept is None else f"savepoint.{kept}"
    if is_main:
        command = f"`paimark rollback {table.word} --to {version}`"
    else:
        command = _sql(f"INSERT OVERWRITE {name} SELECT * FROM {name} VERSION AS OF '{version}'")
    rest = f"{command} gives it the rows from before, without what came since."
    if before.id + 1 == edit.after.id and Side(files, root).record(edit.after.id) is not None:
        of = [] if is_main else ["--branch", root.label]
        revert = shell_line(["paimark", "revert", table.word, *of, "--snapshot", str(edit.after.id)])
        return f"`{revert}` takes back that commit alone; {rest}"
    return rest


def _sql(statement: str) -> str:
    return f"`{shell_line(['paimark', 'sql', statement])}`"
