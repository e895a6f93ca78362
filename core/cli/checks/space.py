"""`paimark space`: who holds a table's bytes, alone and shared, and its buckets with small files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from paimark.core.cli.browse import branch_option, table_argument
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import Count, print_rows
from paimark.core.cli.query.answering import Narrator, looking_at
from paimark.core.errors import UsageError
from paimark.core.figures import size
from paimark.core.space.report import BucketRow, SpaceRow, bucket_sentence, sentences
from paimark.core.space.space import space as look

_COLUMNS = ("kind", "name", "branch", "files", "bytes", "alone_files", "alone_bytes", "is_part")
BUCKET_COLUMNS = ("partition", "bucket", "files", "bytes", "small", "level_0")
_SIZES, _COUNTS = ("bytes", "alone_bytes"), ("files", "alone_files", "small", "level_0")


@click.command(cls=GlobalCommand)
@table_argument
@branch_option
@click.option("--buckets", is_flag=True, help="List buckets instead, those with the most small files first.")
@click.pass_context
def space(ctx: click.Context, table: str, branch: str | None, buckets: bool) -> None:
    """Why is TABLE so big? What main, each branch, tag and savepoint hold, and alone: what goes with them.

    A row that is `part` is in that of its branch, or of main's older snapshots, already. --branch goes
    with --buckets. Every list and manifest is read and every directory listed; nothing is written.
    """
    options, narrator = global_options(ctx), Narrator()
    if branch is not None and not buckets:
        raise UsageError("Without --buckets every branch is listed", "Leave --branch out, or give both.")
    report = look(*looking_at(options, table), branch, narrator.wait)
    narrator.clear()
    if buckets:
        _print(options, BUCKET_COLUMNS, report.buckets)
        narrator.say(bucket_sentence(report))
    else:
        _print(options, SpaceRow.__struct_fields__ if options.as_json else _COLUMNS, report.rows)
        for line in sentences(report):
            narrator.say(line)


def _print(options: GlobalOptions, names: Sequence[str], rows: Iterable[SpaceRow | BucketRow]) -> None:
    show = _as_it_is if options.as_json else _for_people
    print_rows(options, names, ([show(name, getattr(row, name)) for name in names] for row in rows))


def _as_it_is(name: str, value: object) -> object:
    return value


def _for_people(name: str, value: object) -> object:
    if isinstance(value, int) and name in _SIZES:
        return size(value)
    return Count(value) if isinstance(value, int) and name in _COUNTS else value
