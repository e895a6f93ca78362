"""HDFS that takes Kerberos tickets alone: with one all works, and without one a person reads what to do."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable, UsageError
from paimark.core.spark.datasource.file_io import file_io
from paimark.core.storage.files import Files
from paimark.core.storage.known_options import KEYTAB, PRINCIPAL
from tests.storage.hadoop.secure_server import SecureHdfs
from tests.wording import about

User = Callable[..., Files]


def new_directory(host: str = "lake") -> str:
    return f"hdfs://{host}/lake/{uuid.uuid4().hex}"


def test_a_ticket_from_the_cache_reads_and_writes(user: User, secure: SecureHdfs) -> None:
    """The name service's standby NameNode is asked first, and passed over."""
    address = new_directory()
    files = user(address)
    data = bytes(range(256)) * 1000
    assert files.create("t/branch/MAIN-BRANCH", b"old") and not files.create("t/branch/MAIN-BRANCH", b"new")
    files.replace("t/branch/MAIN-BRANCH", data)
    again = user(address.replace("//lake/", f"//localhost:{secure.active}/"))
    assert list(again.read_many(["t/branch/MAIN-BRANCH", "t/none"])) == [data, None]
    assert again.names("t/branch") == ["MAIN-BRANCH"]
    files.delete("t/branch/MAIN-BRANCH")
    files.prune("t/branch")
    assert again.names("t") == []


def test_a_keytab_does_without_a_ticket(user: User, secure: SecureHdfs) -> None:
    keytab = {PRINCIPAL: "alice@LAKE.TEST", KEYTAB: f"{secure.directory}/alice.keytab"}
    assert user(new_directory(), "no.cache", **keytab).create("t/a", b"x")


def test_pypaimon_takes_the_keytab_without_kinit(
    user: User, secure: SecureHdfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By both of its clients, and as nobody else who is in the process."""
    keytab = {PRINCIPAL: "alice@LAKE.TEST", KEYTAB: f"{secure.directory}/alice.keytab"}
    address = new_directory()
    assert user(address, "no.cache", **keytab).create("t/a", b"some bytes")
    monkeypatch.setenv("PATH", "")
    opened = file_io(address, keytab)
    with opened.new_input_stream(f"{address}/t/a") as stream:
        assert stream.read() == b"some bytes"
    path = opened.to_filesystem_path(f"{address}/t/a")
    with opened.filesystem.open_input_file(path) as file:
        assert file.read() == b"some bytes"
    with pytest.raises(RuntimeError, match="No Kerberos credentials"):
        file_io(address, {}).filesystem.open_input_file(path)


def test_pypaimon_takes_the_tokens_of_a_container_that_has_no_keytab(
    user: User, secure: SecureHdfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keytab is on the machine that started Spark."""
    address = new_directory()
    assert user(address).create("t/a", b"some bytes")
    # Also sets the environment of somebody without a ticket.
    user(address, "no.cache")
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", f"{secure.directory}/alice.tokens")
    read = (
        "import sys\n"
        "from paimark.core.spark.datasource.file_io import file_io\n"
        "opened = file_io(sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2])))\n"
        "print(opened.new_input_stream(sys.argv[1] + '/t/a').read())"
    )
    # Tokens are read once in a process.
    words = [sys.executable, "-c", read, address, PRINCIPAL, "alice@LAKE.TEST", KEYTAB, "/none/alice.keytab"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "b'some bytes'\n", done.stderr
    opens = [each for each in secure.requests() if f"{address.removeprefix('hdfs://lake')}/t/a" in each]
    assert ["alice@LAKE.TEST (auth:TOKEN)", "open"] in [each[:2] for each in opens]


def test_half_a_login_is_refused_by_name(user: User) -> None:
    for there, other in ((PRINCIPAL, KEYTAB), (KEYTAB, PRINCIPAL)):
        with pytest.raises(UsageError, match=about(there, f"without {other}")):
            user(new_directory(), **{there: "alice"})


def test_a_keytab_that_is_not_there_is_told(user: User) -> None:
    told = refused(
        user(new_directory(), "no.cache", **{PRINCIPAL: "alice@LAKE.TEST", KEYTAB: "/none/a.keytab"})
    )
    assert told.message == f"{KEYTAB}=/none/a.keytab can't be read"


def test_a_kdc_that_is_not_known_is_told(
    user: User, secure: SecureHdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = user(
        new_directory(),
        "no.cache",
        **{PRINCIPAL: "alice@LAKE.TEST", KEYTAB: f"{secure.directory}/alice.keytab"},
    )
    (tmp_path / "krb5.conf").write_text(
        "[libdefaults]\n default_realm = LAKE.TEST\n dns_lookup_kdc = false\n"
    )
    monkeypatch.setenv("KRB5_CONFIG", f"{tmp_path}/krb5.conf")
    assert "KRB5_CONFIG" in refused(files).hint


def refused(files: Files) -> Unavailable:
    with pytest.raises(Unavailable) as told:
        files.create("t/a", b"x")
    assert told.value.exit_code == 3
    assert not re.search(r"GssMajorCodes|Error\(|org\.apache", told.value.message), told.value.message
    return told.value


@pytest.mark.parametrize(
    ("cache", "why"),
    [("no.cache", "(No Kerberos credentials available|No credentials)"), ("expired.cache", "expired")],
)
def test_who_has_no_ticket_any_more_is_sent_to_kinit(user: User, cache: str, why: str) -> None:
    told = refused(user(new_directory(), cache))
    assert re.search(why, told.message), told.message
    assert told.hint.startswith("Run `kinit`")


def test_a_principal_that_the_keytab_does_not_have_is_told(user: User, secure: SecureHdfs) -> None:
    keytab = {PRINCIPAL: "nobody@LAKE.TEST", KEYTAB: f"{secure.directory}/alice.keytab"}
    told = refused(user(new_directory(), "no.cache", **keytab))
    assert PRINCIPAL in told.hint


def test_who_may_not_write_there_is_told_as_whom(user: User) -> None:
    told = refused(user(new_directory(), "bob.cache"))
    assert "Permission denied: user=bob, access=WRITE" in told.message
    assert about("credentials", "read and write").search(told.hint)


@pytest.mark.long
def test_without_the_clusters_configuration_it_is_asked_for(user: User, secure: SecureHdfs) -> None:
    """A NameNode ends the connection of who does not speak of Kerberos; a name service is no host."""
    for host in (f"localhost:{secure.active}", "lake"):
        told = refused(user(new_directory(host), configured=False))
        assert "HADOOP_CONF_DIR" in told.hint, (told.message, told.hint)


@pytest.mark.long
def test_a_standby_namenode_is_told_from_the_service(user: User, secure: SecureHdfs) -> None:
    told = refused(user(new_directory(f"localhost:{secure.standby}")))
    assert "not supported in state standby" in told.message
    assert "name service" in told.hint
