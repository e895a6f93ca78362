"""What `paimark doctor` says of a Spark cluster: what executors need, and whether they have it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

from core.cli.answering import open_engine
from core.cli.options import Given
from core.config import Settings
from core.errors import UsageError


def cluster_findings(found: Given) -> Iterator[str]:
    """A line for the cluster that is set, and when the command names it, one a machine.

    Raises `Unavailable` with what is lacking where.
    """
    from core.spark.cluster import is_cluster

    try:
        settings = found.settings()
    except UsageError:
        # Said where the warehouse is looked at.
        return
    master = settings.spark_master
    if master is None or not is_cluster(master):
        return
    yield f"{master}: {_needs(settings)}"
    if found.spark_master is None:
        yield f"{master}: not looked at; `paimark doctor --spark-master {master}` does"
        return
    with closing(open_engine(settings)) as engine:
        seconds = engine.wait_ready()
        yield f"{master}: ready in {seconds:.0f} s"
        yield from engine.nodes


def _needs(settings: Settings) -> str:
    python = ".".join(map(str, sys.version_info[:2]))
    needs = f"executors need Python {python} with pypaimon and msgspec"
    if "://" not in settings.warehouse:
        needs += f", and {settings.warehouse} mounted at the same place"
    return needs
