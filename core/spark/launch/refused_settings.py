"""Refuse, by name, settings of Spark that Paimark can't obey, instead of ignoring them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from paimark.core.errors import Unavailable

_KEYTAB, _PRINCIPAL = "spark.kerberos.keytab", "spark.kerberos.principal"
# The names of both before Spark 3.
_ONCE = {"spark.yarn.keytab": _KEYTAB, "spark.yarn.principal": _PRINCIPAL}


def require_possible(settings: Mapping[str, str]) -> None:
    """Raises `Unavailable`, which names the first such setting."""
    if settings.get("spark.submit.deployMode", "client") != "client":
        raise Unavailable(
            "spark.submit.deployMode=cluster is not possible: rows come to this machine, Spark's driver",
            "Leave it out, or say client.",
        )
    for name, value in (("spark.api.mode", "connect"), ("spark.remote", None)):
        if name in settings and value in (None, settings[name]):
            raise Unavailable(
                f"{name} is not obeyed here", "Say --spark-master sc://host:15002 for Spark Connect."
            )
    _require_keytab(settings)


def require_no_redirection(
    environment: Mapping[str, str], master: str | None, given: Mapping[str, str]
) -> None:
    """Raises `Unavailable` for an environment variable that would redirect PySpark to another master.

    `given` are the user's settings.
    """
    if environment.get("SPARK_REMOTE") and not (master or given.get("spark.master")):
        raise Unavailable(
            "SPARK_REMOTE is not obeyed here",
            "Say --spark-master sc://host:15002 for Spark Connect, or --spark-master local for none.",
        )
    arguments = environment.get("PYSPARK_SUBMIT_ARGS", "").split()
    if arguments and arguments != ["pyspark-shell"]:
        raise Unavailable(
            "PYSPARK_SUBMIT_ARGS is not obeyed here",
            "Unset it: --spark-master and --spark-conf say the same, or spark-defaults.conf.",
        )


def _require_keytab(settings: Mapping[str, str]) -> None:
    named = {_ONCE.get(name, name) for name in (_KEYTAB, _PRINCIPAL, *_ONCE) if settings.get(name)}
    if len(named) == 1:
        [there] = named
        other = _PRINCIPAL if there == _KEYTAB else _KEYTAB
        raise Unavailable(
            f"{there} is of no use without {other}", "Give both, or neither and a ticket of kinit."
        )
    keytab = settings.get(_KEYTAB) or settings.get("spark.yarn.keytab")
    if keytab and not os.access(keytab.removeprefix("file://"), os.R_OK):
        raise Unavailable(f"{_KEYTAB}={keytab} can't be read", "Is it there, and readable by this user?")
