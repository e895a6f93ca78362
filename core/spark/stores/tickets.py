"""Kerberos in Java, as far as it differs from the libraries of `kinit` in the same environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Errors of Hadoop's client if a NameNode requires a ticket.
NO_TICKET = r"GSSException|GSS initiate failed|annot authenticate via|Kerberos tgt|LoginException"
_KEYTAB = "spark.kerberos.keytab"
_REALMS = "-Djava.security.krb5.conf="


def realm_option(options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The option that names krb5.conf if the environment does, because Java only looks in /etc.

    Empty if `options` already have one. Java accepts one file only: the first that exists.
    """
    named = [path for path in environment.get("KRB5_CONFIG", "").split(os.pathsep) if os.path.isfile(path)]
    if not named or any(option.startswith(_REALMS) for option in options):
        return ()
    return (f"{_REALMS}{named[0]}",)


def lacks_ticket(text: str) -> bool:
    return re.search(NO_TICKET, text) is not None


def log_in_again(session: SparkSession, jvm: Any) -> None:
    """Log in with the present ticket of the cache. With a keytab Hadoop does that itself."""
    if not session.sparkContext.getConf().get(_KEYTAB):
        jvm.org.apache.hadoop.security.UserGroupInformation.loginUserFromSubject(None)
