"""`paimark doctor` on a Spark cluster: the packages that executors need, and whether they have them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.query.answering import open_engine
from paimark.core.config import Settings
from paimark.core.errors import UsageError


def cluster_needs(options: GlobalOptions) -> Iterator[str]:
    """The packages that executors must have, if a cluster is set."""
    if (settings := _with_cluster(options)) is not None:
        python = ".".join(map(str, sys.version_info[:2]))
        needs = f"executors need Python {python} with pypaimon and msgspec"
        if "://" not in settings.warehouse:
            needs += f", and {settings.warehouse} mounted at the same place"
        yield f"{settings.spark_master}: {needs}"


def cluster_has(options: GlobalOptions) -> Iterator[str]:
    """The packages of each machine, if the command line names the cluster. Raises `Unavailable`."""
    if (settings := _with_cluster(options)) is None:
        return
    master = settings.spark_master
    if options.spark_master is None:
        yield f"{master}: not looked at; `paimark doctor --spark-master {master}` does"
        return
    with closing(open_engine(settings)) as engine:
        seconds = engine.wait_ready()
        yield f"{master}: ready in {seconds:.0f} s"
        yield from engine.nodes


def _with_cluster(options: GlobalOptions) -> Settings | None:
    from paimark.core.spark.launch.cluster import is_cluster

    try:
        settings = options.settings()
    except UsageError:
        # The check of the warehouse reports it.
        return None
    return settings if settings.spark_master and is_cluster(settings.spark_master) else None
