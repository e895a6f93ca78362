"""pypaimon-rust on HDFS: as whom Python reads, by the same NameNodes, and with stock Paimon's rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.spark.datasource.rust.stores import store_access
from paimark.core.storage.files import Files
from paimark.core.storage.known_options import KEYTAB, PRINCIPAL
from tests.interop.judge import Judge
from tests.spark.datasource.rust.on_stores import keyed_table, require_alike
from tests.storage.hadoop.conftest import secure, user
from tests.storage.hadoop.secure_server import SecureHdfs

__all__ = ["secure", "user"]
_SITE = "<configuration>{}</configuration>"
_PROPERTY = "<property><name>{}</name><value>{}</value></property>"
LAKE = {
    "dfs.ha.namenodes.lake": "a, b",
    "dfs.namenode.rpc-address.lake.a": "one:8020",
    "dfs.namenode.rpc-address.lake.b": "two:9000",
}


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Writes Hadoop's own file of such settings."""

    def write(settings: dict[str, str]) -> None:
        properties = "".join(_PROPERTY.format(*each) for each in settings.items())
        (tmp_path / "hdfs-site.xml").write_text(_SITE.format(properties))
        monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))

    return write


@pytest.mark.parametrize(
    ("host", "settings", "told"),
    [
        ("namenode:9000", LAKE, "hdfs://namenode:9000"),
        (
            "namenode",
            LAKE,
            "it needs a port in the address, or Hadoop's files with the name service namenode",
        ),
        ("lake", LAKE, "hdfs://one:8020,two:9000"),
        ("", LAKE, "it does not look for Hadoop's default file system"),
        (
            "lake",
            LAKE | {"dfs.client.failover.resolve-needed.lake": "true"},
            "it does not look for more hosts behind the names of lake's NameNodes",
        ),
        (
            "lake",
            {**LAKE, "dfs.namenode.rpc-address.lake.b": ""},
            "Hadoop's files do not name the address of each NameNode of lake",
        ),
    ],
)
def test_it_is_told_the_name_nodes(
    host: str, settings: dict[str, str], told: str, configured: Callable[[dict[str, str]], None]
) -> None:
    configured(settings)
    access = store_access(f"hdfs://{host}/w", {"cache-enabled": "false"})
    assert (access.why_python or access.options["hdfs.name-node"]) == told


@pytest.mark.parametrize(
    "option",
    [KEYTAB, "hdfs.conf-dir", "hdfs.client.impl", "dfs.client.use.datanode.hostname", "hdfs.config.dfs.x"],
)
def test_python_reads_where_an_option_would_be_lost(option: str) -> None:
    assert store_access("hdfs://n:1/w", {option: "x"}).why_python == f"it takes no {option}"


@pytest.mark.usefixtures("by_rust")
def test_its_rows_are_stock_paimons(
    hdfs: str, tmp_path: Path, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    keyed_table(tmp_path)
    require_alike(tmp_path, f"{hdfs}/{uuid.uuid4().hex}", {}, judge, caplog)


@pytest.mark.long
@pytest.mark.usefixtures("by_rust")
def test_it_reads_with_a_ticket_from_a_name_service(
    user: Callable[..., Files],
    secure: SecureHdfs,
    tmp_path: Path,
    judge: Judge,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whose standby NameNode is asked first. A keytab is told to Python alone."""
    keyed_table(tmp_path)
    uri = f"hdfs://lake/lake/{uuid.uuid4().hex}"
    user(uri)
    require_alike(tmp_path, uri, {}, judge, caplog)
    keytab = {PRINCIPAL: "alice@LAKE.TEST", KEYTAB: f"{secure.directory}/alice.keytab"}
    assert store_access(uri, keytab).why_python == f"it takes no {PRINCIPAL}"
