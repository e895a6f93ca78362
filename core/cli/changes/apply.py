"""`paimark apply FILE`: a plan that `--plan-out` saved."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from paimark.core.actions.context import context_of
from paimark.core.actions.registry import action
from paimark.core.actions.savepoints.create_savepoint import require_not_applied
from paimark.core.cli.changes.actions import carry_out
from paimark.core.cli.changes.saved_plans import load_plan
from paimark.core.cli.options import GlobalCommand, global_options, takes_note
from paimark.core.cli.plans import require_writable
from paimark.core.cli.query.answering import ended_by_signals, open_engine
from paimark.core.errors import Refused
from paimark.core.table.lineage.notes import checked


@click.command(cls=GlobalCommand)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@takes_note
@click.pass_context
def apply(ctx: click.Context, file: Path, message: str | None, author: str | None) -> None:
    """Apply a plan that --plan-out saved. It is refused when anything that it stands on moved since."""
    options, saved = global_options(ctx), load_plan(file)
    settings = options.settings()
    if not options.dry_run:
        require_writable(settings)
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        context = context_of(settings, lambda: engine)
        if context.files.uri != saved.warehouse:
            raise Refused(
                f"{file} was planned on {saved.warehouse}, and this is {context.files.uri}",
                "Name that warehouse with --warehouse.",
            )
        require_not_applied(context, saved.plan)
        note = checked(message or saved.plan.note.message, author or saved.plan.note.author)
        carry_out(action(saved.plan.action), context, saved.plan.noted(note), options)
