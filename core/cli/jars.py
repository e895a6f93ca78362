"""`paimark jars`: fetch once the jars that Spark's wheel lacks for some stores and formats."""

from __future__ import annotations

from collections.abc import Iterator

import click

from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import narrate, print_rows, show
from paimark.core.errors import Unavailable, UsageError
from paimark.core.figures import counted, size
from paimark.core.quoting import shell_line
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.library.catalog_settings import catalog_settings
from paimark.core.spark.stores.jars import (
    JarSet,
    cached_jars,
    directory_of,
    fetch,
    jar_sets,
    place_of,
    require_fitting,
)

_COLUMNS = ("name", "purpose", "for", "jars", "state", "directory")


@click.command(cls=GlobalCommand)
@click.argument("what", type=click.Choice(["list", "fetch", "catalog"]), default="list")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.pass_context
def jars(ctx: click.Context, what: str, names: tuple[str, ...]) -> None:
    """List the jars that Spark lacks, fetch those of NAME, or print what a Spark of your own needs.

    `paimark jars fetch s3` brings them once, by Maven or by Spark's own resolver, and checks them; every
    later start picks up by itself what its warehouse needs. Repositories are those of Maven's settings, or
    of spark.jars.repositories and spark.jars.ivySettings.

    `paimark jars catalog lake` prints the settings with which a Spark 4.1 of your own, a notebook's or a
    SQL shell's, reads this warehouse as the catalog `lake`: savepoints, branches and versions as here.
    """
    options = global_options(ctx)
    if what == "catalog":
        _tell_settings(options, names)
        return
    spark = find_spark()
    if what == "list":
        if names:
            raise UsageError(
                "`paimark jars list` takes no names", f"Did you mean `paimark jars fetch {names[0]}`?"
            )
        print_rows(options, _COLUMNS, [_row(each, spark) for each in jar_sets().values()])
        return
    for each in _jar_sets(names):
        _fetch(each, spark, options)


def _tell_settings(options: GlobalOptions, names: tuple[str, ...]) -> None:
    if len(names) > 1:
        raise UsageError("A catalog has one name", "Write `paimark jars catalog lake`.")
    settings = options.settings()
    found = catalog_settings(settings.warehouse, settings.options, *names, read_only=settings.read_only)
    if options.as_json:
        print_rows(options, ("setting", "value"), found.items())
        return
    for name, value in found.items():
        show(shell_line(["--conf", f"{name}={value}"]))


def _jar_sets(names: tuple[str, ...]) -> Iterator[JarSet]:
    known = jar_sets()
    if unknown := [name for name in names if name not in known] or ([] if names else [""]):
        reason = f"There are no jars called {unknown[0]!r}" if unknown[0] else "Say which jars to fetch"
        raise UsageError(reason, f"There are {', '.join(known)}; `paimark jars list` tells what for.")
    return (known[name] for name in names)


def _row(jars: JarSet, spark: SparkHome) -> tuple[object, ...]:
    return jars.name, jars.purpose, jars.label, len(jars.jars), _state(jars, spark), str(place_of(jars))


def _state(jars: JarSet, spark: SparkHome) -> str:
    try:
        require_fitting(jars, spark)
        return "fetched" if cached_jars(jars) else "not fetched"
    except Unavailable as error:
        return error.message


def _fetch(jars: JarSet, spark: SparkHome, options: GlobalOptions) -> None:
    if options.dry_run:
        require_fitting(jars, spark)
        narrate(f"{counted(len(jars.jars), 'jar')} for {jars.name} would come to {directory_of(jars)}:")
        for jar in jars.jars:
            narrate(f"  {jar.place}")
        return
    narrate(f"Fetching {counted(len(jars.jars), 'jar')} for {jars.name} ({jars.purpose}) …")
    directory = fetch(
        jars, spark, {**spark.defaults(), **_spark_conf(options)}, lambda: find_java().executable
    )
    bytes_on_disk = sum(path.stat().st_size for path in directory.iterdir())
    narrate(f"{counted(len(jars.jars), 'jar')}, {size(bytes_on_disk)}, checked, in {directory}")


def _spark_conf(options: GlobalOptions) -> dict[str, str]:
    """The Spark settings of the command line and of the context, if there is one; jars need no warehouse."""
    try:
        return dict(options.settings().spark_conf)
    except UsageError:
        return options.spark_conf
