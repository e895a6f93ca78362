"""Kerberos in Java, as far as it is not what the libraries of `kinit` make of the same environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Hadoop's client says to a NameNode that takes tickets alone.
NO_TICKET = r"GSSException|GSS initiate failed|annot authenticate via|Kerberos tgt|LoginException"
_KEYTAB = "spark.kerberos.keytab"
_REALMS = "-Djava.security.krb5.conf="


def realm_option(options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The option that names krb5.conf where the environment does, as Java looks in /etc alone.

    None where one is among the `options`. Of several files Java takes one: the first that is there.
    """
    named = [path for path in environment.get("KRB5_CONFIG", "").split(os.pathsep) if os.path.isfile(path)]
    if not named or any(option.startswith(_REALMS) for option in options):
        return ()
    return (f"{_REALMS}{named[0]}",)


def lacks_ticket(text: str) -> bool:
    return re.search(NO_TICKET, text) is not None


def log_in_again(session: SparkSession, jvm: Any) -> None:
    """As whom the ticket cache names now. With a keytab Hadoop does so itself."""
    if not session.sparkContext.getConf().get(_KEYTAB):
        jvm.org.apache.hadoop.security.UserGroupInformation.loginUserFromSubject(None)
