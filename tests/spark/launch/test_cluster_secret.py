"""A standalone cluster with one secret for all: who has it is let in and encrypted, others are told."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from tests.spark.engine_fixture import rows
from tests.spark.launch.test_cluster import engine_of
from tests.spark.standalone import standalone

SECRET = "a-secret-of-a-whole-cluster"

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


def test_the_secret_of_a_cluster(engine_warehouse: Path, tmp_path: Path) -> None:
    theirs = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    given = {**theirs, "spark.authenticate.secret": SECRET}
    with standalone(tmp_path / "spark", given) as cluster:
        with closing(engine_of(cluster, engine_warehouse, tmp_path / "right.log", **given)) as engine:
            engine.wait_ready(400)
            assert len(rows(engine, "SELECT * FROM shop.orders")) == 8
            # They come by Spark's own way, which is encrypted.
            sql = "SELECT id, repeat('x', 300) AS text FROM range(0, 50000, 1, 4)"
            assert [row["id"] for row in rows(engine, sql)] == [*range(50000)]
            seen = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True)
            ours = [line for line in seen.stdout.splitlines() if "deploy.master" not in line]
            ours = [line for line in ours if "deploy.worker" not in line]
            assert any("ExecutorBackend" in line for line in ours)
            assert not any(SECRET in line for line in ours)
        wrong = {**theirs, "spark.authenticate.secret": "another-secret-than-theirs"}
        with closing(engine_of(cluster, engine_warehouse, tmp_path / "wrong.log", **wrong)) as engine:
            with pytest.raises(Unavailable) as told:
                engine.wait_ready(400)
            assert "spark.authenticate.secret" in told.value.hint
