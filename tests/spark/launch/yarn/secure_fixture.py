"""A warehouse on an HDFS with Kerberos, and the settings of engines on a YARN with Kerberos."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from tests.spark.launch.yarn.yarn_server import SMALL_EXECUTORS, java_options
from tests.spark.stores.engines import upload
from tests.storage.hadoop.secure_server import SecureHdfs


class OnYarn(NamedTuple):
    """A warehouse with the template's tables; `path` is below the root of HDFS."""

    path: str
    secure: SecureHdfs
    scratch: Path

    @property
    def uri(self) -> str:
        return f"hdfs://lake{self.path}"

    def engine(self, uri: str = "", **options: str) -> Engine:
        settings = Settings(uri or self.uri, options=options, spark_master="yarn")
        return Engine(settings, self.scratch / "engine.log")

    def accesses(self, command: str) -> set[tuple[str, str]]:
        """How data files of this warehouse were opened or created, and who says that it did so.

        `("TOKEN", "SPARK_TASK")` is Java in an executor; Python there says nothing of itself.
        """
        return {
            (user.partition("auth:")[2].rstrip(")"), caller.partition("_application")[0])
            for user, done, path, caller in self.secure.requests()
            if done == command and path.startswith(f"{self.path}/") and "/bucket-" in path
        }


@pytest.fixture
def on_yarn(
    secure: SecureHdfs,
    secure_yarn: Path,
    warehouse_template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> OnYarn:
    """For somebody who ran `kinit`. Spark's settings are in spark-defaults.conf, as on an edge node."""
    for name, value in secure.environment().items():
        monkeypatch.setenv(name, value)
    path = f"/lake/{uuid.uuid4().hex}"
    upload(warehouse_template, Settings(f"hdfs://lake{path}"))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secure_yarn))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    settings = {
        **SMALL_EXECUTORS,
        "spark.executor.instances": "1",
        "spark.executor.extraJavaOptions": " ".join(
            [SMALL_EXECUTORS["spark.executor.extraJavaOptions"], *java_options(secure)]
        ),
        "spark.yarn.am.extraJavaOptions": " ".join(java_options(secure)),
    }
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (tmp_path / "spark-defaults.conf").write_text("".join(lines))
    return OnYarn(path, secure, tmp_path)
