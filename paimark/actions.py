"""Every action on a table: planned and applied in one call, or with `plan` and a later `apply`.

`paimark.methods` has the methods. A call does not ask for confirmation. Warnings of its plan and notes about
its result are logged to `paimark`. Names, arguments and defaults are those of the command line.
"""

from __future__ import annotations

from paimark.arguments import checked_arguments, text
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action
from paimark.core.actions.registry import action as action_named
from paimark.core.errors import UsageError
from paimark.core.table.layout import TablePath
from paimark.methods import R, TableMethods
from paimark.results import Result, result_of
from paimark.session import Session, tell, warn


class TableActions(TableMethods):
    """The actions on one table.

    Each raises `Refused` if it would be unsafe or is not allowed: nothing was written then; `NotFound`;
    `UsageError` for wrong arguments; `Corrupt`; and `Unavailable`, whose message says if a change is half
    done and needs `recover`.
    """

    def __init__(self, session: Session, path: TablePath) -> None:
        self._session = session
        self._path = path

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    @property
    def name(self) -> str:
        """`shop.orders`; a part that would be misread is in backticks."""
        return self._path.full_name

    @property
    def database(self) -> str:
        """The name of its database."""
        return self._path.database

    def plan(self, action: str, /, **arguments: object) -> Plan:
        """The plan of an action, by its name on the command line: `plan("delete-tag", name="v2")`.

        Only reads. Its `refusals` say what prevents the action, each with a reason and a hint. If a command
        takes an argument several times, a list (`name=["v1", "v2"]`) gives one plan for all.
        """
        chosen = action_named(text("An action", action, "It is a name as on the command line: delete-tag."))
        given = checked_arguments(chosen, arguments)
        self._require_there(chosen)
        with self._session.acting() as context:
            return chosen.plan(context, self._path, given)

    def apply(self, plan: Plan) -> Result:
        """Apply a plan to this table, once. Raises `Refused` if anything that it relies on has changed."""
        if not isinstance(plan, Plan):
            raise UsageError(f"apply takes a plan, not {type(plan).__name__}", "The method plan makes one.")
        if plan.table != self.name:
            raise UsageError(f"The plan is for {plan.table}, and this is {self.name}")
        # Imported here because it loads the readers of manifests, which few programs need.
        from paimark.core.actions.savepoints.create_savepoint import require_not_applied

        with self._session.acting() as context:
            require_not_applied(context, plan)
            return self._applied(context, plan)

    def _do(self, action: str, kind: type[R], **arguments: object) -> R:
        chosen = action_named(action)
        given = checked_arguments(chosen, arguments)
        self._require_there(chosen)
        with self._session.acting() as context:
            plan = chosen.plan(context, self._path, given)
            result = self._applied(context, plan)
        assert isinstance(result, kind)
        return result

    def _require_there(self, action: Action) -> None:
        """Raises `NotFound` if the table was dropped: some actions would take that for nothing to do."""
        action.table(self._session.files, self.name)

    def _applied(self, context: Context, plan: Plan) -> Result:
        warn(plan.warnings)
        return result_of(plan, action_named(plan.action).apply(context, plan, tell))
