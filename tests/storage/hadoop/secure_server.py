"""An HDFS that takes Kerberos tickets alone, with its KDC, in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.interop.java_server import start_java_server
from tests.interop.stock import brought
from tests.storage.hadoop.hdfs_server import CLUSTER, require_client

SOURCE = Path(__file__).parent / "SecureHdfs.java"
_ARTIFACTS = ("org.apache.kerby:kerb-simplekdc:2.1.0", CLUSTER)
_DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
<exclusions><exclusion><groupId>org.slf4j</groupId><artifactId>*</artifactId></exclusion>
<exclusion><groupId>org.apache.hadoop</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""
_PROJECT = """<project><modelVersion>4.0.0</modelVersion><groupId>jars</groupId><artifactId>jars</artifactId>
<version>1</version><dependencies>{}</dependencies></project>"""


class SecureHdfs(NamedTuple):
    """`directory` has `krb5.conf`, `conf/` for clients, keytabs (`alice.keytab`), ticket caches, `audit.log`,
    and `alice.tokens`, which are delegation tokens.

    `active` and `standby` are the ports of the NameNodes of the name service `lake`.
    """

    directory: Path
    active: int
    standby: int

    def environment(self, cache: str = "alice.cache", *, configured: bool = True) -> dict[str, str]:
        """What a user has who has run `kinit`; `configured` is whether HADOOP_CONF_DIR is set."""
        known = {"KRB5_CONFIG": f"{self.directory}/krb5.conf", "KRB5CCNAME": f"FILE:{self.directory}/{cache}"}
        return {**known, "HADOOP_CONF_DIR": f"{self.directory}/conf"} if configured else known

    def requests(self) -> list[list[str]]:
        """The user, command, path and caller of each request that a NameNode carried out.

        The user's name ends with the kind of authentication: `(auth:TOKEN)`.
        """
        return [line.split("\t") for line in (self.directory / "audit.log").read_text().splitlines()]


def start_secure_hdfs(directory: Path, until: int) -> str:
    """Start it in a directory, until the process of that number ends; the ports of its NameNodes.

    Raises `ToolMissing` without a JDK, Maven and the client.
    """
    require_client()
    fetched = _PROJECT + _DEPENDENCY + repr(_ARTIFACTS)
    return start_java_server(SOURCE, directory, until, _download, fetched=fetched).said


def _download(maven: str, jars: Path) -> None:
    """The servers with what they need, but for what Spark brings."""
    project = jars.parent / "pom.xml"
    project.write_text(_PROJECT.format("".join(_DEPENDENCY.format(*each.split(":")) for each in _ARTIFACTS)))
    words = [maven, "-f", str(project), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    brought(words, jars, "a KDC")
