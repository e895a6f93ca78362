"""CREATE DATABASE and DROP DATABASE: a directory of the warehouse is made, or an empty one removed."""

from __future__ import annotations

from paimark.core.actions import audit
from paimark.core.actions.checks import require_allowed
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.names import unseen_reason
from paimark.core.actions.plan import Done, Outcome, Plan, Refusal
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted, some_of
from paimark.core.storage.open import require_conditions
from paimark.core.table.catalog import database_directory, databases, first_file, require_database, tables
from paimark.core.table.names import is_safe_name
from paimark.core.table.trash import dropped_tables, half_deleted

CREATE, DROP = "create-database", "drop-database"


def exists(context: Context, name: str) -> bool:
    try:
        return name in databases(context.files)
    except NotFound:
        # On an object store a warehouse is there with its first database.
        if "://" not in context.files.uri:
            raise
        return False


def create(context: Context, name: str, progress: Progress) -> Outcome:
    """Raises `Refused`, also if it is there already."""
    refusals = []
    if not is_safe_name(name) or name.startswith(".") or "." in name:
        refusals.append(Refusal(f"{name!r} can't be the name of a database", "Choose another one."))
    elif reason := unseen_reason(name, "a database"):
        refusals.append(Refusal(reason, "Choose another name."))
    elif exists(context, name):
        hint = "CREATE DATABASE IF NOT EXISTS leaves it as it is."
        refusals.append(Refusal(f"There is a database {name} already", hint))
    plan = _plan(CREATE, name, refusals)
    require_allowed(context, plan)
    started, files = context.clock(), context.files
    require_conditions(files)
    files.make_directory(database_directory(name))
    if not exists(context, name):
        raise Refused(
            f"{files.uri} keeps no directory without files",
            f"Let a table of another engine begin {name}: the directory is there with its first file.",
        )
    message = f"Created database {name}"
    done = Done(message, {"database": name}, "no such database", message)
    return audit.finished(context, plan, done, started, progress)


def drop(context: Context, name: str, progress: Progress) -> Outcome:
    """Raises `NotFound`, and `Refused` if there is anything in it."""
    files, directory = context.files, database_directory(name)
    require_database(files, name)
    plan = _plan(DROP, name, _in_the_way(context, name))
    require_allowed(context, plan)
    started = context.clock()
    files.prune(directory)
    if exists(context, name):
        raise Refused(
            f"{directory} is still there: somebody wrote to it, or the store keeps it", "Look at it."
        )
    message = f"Dropped database {name}, which was empty"
    return audit.finished(context, plan, Done(message, {"database": name}, name, message), started, progress)


def _in_the_way(context: Context, name: str) -> list[Refusal]:
    files, directory = context.files, database_directory(name)
    if there := [each.name for each in tables(files, name)]:
        what = f"{counted(len(there), 'table')}: {some_of(there)}"
        return [Refusal(f"Database {name} has {what}", "DROP TABLE takes each out of the way.")]
    if dropped := [*dropped_tables(files, name), *half_deleted(files, name)]:
        what = f"{counted(len(dropped), 'dropped table')} in its trash"
        hint = f"CALL sys.delete_dropped(table => '{dropped[0].table.full_name}') deletes one for good."
        return [Refusal(f"Database {name} has {what}", hint)]
    if other := first_file(files, directory):
        return [Refusal(f"Database {name} is not empty: there is {other}", "Look at what lies there.")]
    return []


def _plan(action: str, name: str, refusals: list[Refusal]) -> Plan:
    verb = "Create" if action == CREATE else "Drop"
    return Plan(
        action=action, table=name, headline=f"{verb} database {name}.", arguments={}, refusals=tuple(refusals)
    )
