"""`paimark doctor` on a cluster: what its machines need, and why Spark can't be had there."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import Paimark
from tests.wording import about


def spark_rows(paimark: Paimark, *words: str | Path) -> tuple[int, list[tuple[str, str]]]:
    ran = paimark("doctor", *words, "--output", "json")
    return ran.code, [(row["state"], row["detail"]) for row in ran.rows if row["check"] == "spark"]


def test_a_cluster_that_is_not_there(paimark: Paimark, warehouse: Path) -> None:
    master = "spark://127.0.0.1:1"
    code, findings = spark_rows(paimark, "--warehouse", warehouse, "--spark-master", master)
    assert code == 3
    assert [state for state, _ in findings] == ["ok", "broken"]
    assert about(master, "executors", warehouse, "mounted").search(findings[0][1])
    assert about("no Spark", master).search(findings[1][1])


def test_a_cluster_of_the_config_file_is_not_started_unasked(
    paimark: Paimark, warehouse: Path, tmp_path: Path
) -> None:
    (tmp_path / "paimark").mkdir()
    config = f'[contexts.far]\nwarehouse = "{warehouse}"\nspark_master = "yarn"\n'
    (tmp_path / "paimark" / "config.toml").write_text(config)
    code, findings = spark_rows(paimark, "--context", "far")
    assert (code, [state for state, _ in findings]) == (0, ["ok", "ok"])
    assert about("yarn", "executors", warehouse, "mounted").search(findings[0][1])
    assert about("yarn", "not", "`paimark doctor --spark-master yarn`").search(findings[1][1])


def test_one_machine_needs_no_cluster(paimark: Paimark, warehouse: Path) -> None:
    assert spark_rows(paimark, "--warehouse", warehouse, "--spark-master", "local[2]") == (0, [])
