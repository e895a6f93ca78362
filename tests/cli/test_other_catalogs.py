"""Who asks for a catalog with a server never gets the plain files of its directory instead."""

from __future__ import annotations

from pathlib import Path

import pytest

import paimark as public
from paimark.core.errors import UsageError
from paimark.core.spark.datasource.options import READ, require_allowed
from tests.cli.command import Paimark
from tests.wording import about

HIVE = ("Hive", "not supported")
JDBC = ("JDBC", "not supported")
REST = ("REST", "not supported")
NO_LOCK = ("no lock", "catalog")

ADDRESSES = [
    ("thrift://metastore:9083", HIVE),
    ("THRIFT://metastore:9083", HIVE),
    ("jdbc:sqlite:/var/lib/lake.db", JDBC),
    ("JDBC:mysql://bob:secret@db/lake", JDBC),
    ("http://rest:8080", REST),
    ("https://rest", REST),
]
OPTIONS = [
    ("metastore", "hive", HIVE),
    ("metastore", " Hive ", HIVE),
    ("Metastore", "JDBC", JDBC),
    ("metastore", "rest", REST),
    (
        "uri",
        "thrift://m:9083",
        ("uri", "option", "Hive", "JDBC", "REST", "not supported"),
    ),
    ("catalog-key", "x", ("catalog-key", "option", "JDBC catalogs")),
    ("jdbc.user", "x", ("jdbc.user", "option", "JDBC catalogs")),
    ("token", "secret", ("token", "option", "REST catalogs")),
    ("token.provider", "bear", ("token.provider", "option", "REST catalogs")),
    ("dlf.access-key-id", "x", ("dlf.access-key-id", "option", "REST catalogs")),
    ("hive-conf-dir", "/etc/hive", ("hive-conf-dir", "option", "Hive catalogs")),
    ("lock.enabled", "true", NO_LOCK),
    ("lock-acquire-timeout", "1 min", NO_LOCK),
]
ACCEPTED = [{"metastore": "filesystem"}, {"metastore": "FileSystem"}, {"lock.enabled": "false"}]


@pytest.mark.parametrize(("address", "reason"), ADDRESSES)
def test_the_address_of_a_server_is_refused_by_name(
    paimark: Paimark, address: str, reason: tuple[str, ...]
) -> None:
    for words in (["tables", "--warehouse", address], [address], ["doctor", address]):
        ran = paimark(*words)
        assert (ran.code, ran.out) == (2, "")
        assert about(*reason, "directory").search(ran.err)
        assert "secret" not in ran.err
    with pytest.raises(UsageError, match=about(*reason)):
        public.open(address)


@pytest.mark.parametrize(("name", "value", "reason"), OPTIONS)
def test_an_option_of_such_a_catalog_is_refused_by_its_cause(
    paimark: Paimark, warehouse: Path, name: str, value: str, reason: tuple[str, ...]
) -> None:
    ran = paimark("tables", "--warehouse", warehouse, "--option", f"{name}={value}")
    assert (ran.code, ran.out) == (2, "")
    assert about(*reason).search(ran.err) and "secret" not in ran.err
    with pytest.raises(UsageError):
        public.open(warehouse, options={name: value})
    with pytest.raises(UsageError) as raised:
        require_allowed({"warehouse": str(warehouse), "table": "shop.orders", name.lower(): value}, READ)
    assert about(*reason).search(raised.value.message)


def test_a_context_that_asks_for_one_is_refused(
    paimark: Paimark, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "paimark").mkdir()
    config = tmp_path / "paimark" / "config.toml"
    config.write_text(
        f'[contexts.a]\nwarehouse = "{warehouse}"\noptions = {{ metastore = "hive" }}\n'
        '[contexts.b]\nwarehouse = "jdbc:sqlite:lake.db"\n'
    )
    for context, reason in (("a", HIVE), ("b", JDBC)):
        ran = paimark("tables", "--context", context)
        assert (ran.code, ran.out) == (2, "") and about(*reason).search(ran.err)


@pytest.mark.parametrize("options", ACCEPTED)
def test_the_catalog_of_files_by_its_own_name_is_accepted(warehouse: Path, options: dict[str, str]) -> None:
    assert public.open(warehouse, options=options).tables()


def test_a_directory_named_like_a_scheme_opens(
    paimark: Paimark, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.rename(tmp_path / "jdbc")
    monkeypatch.chdir(tmp_path)
    assert paimark("tables", "--warehouse", "jdbc").code == 0
