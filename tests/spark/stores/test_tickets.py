"""Java is told of the krb5.conf that the environment names, unless somebody told it already."""

from __future__ import annotations

from pathlib import Path

from paimark.core.spark.stores.failures import realm_option


def test_the_first_file_that_is_there_is_named(tmp_path: Path) -> None:
    known = tmp_path / "krb5.conf"
    known.touch()
    environment = {"KRB5_CONFIG": f"{tmp_path}/none:{known}"}
    option = f"-Djava.security.krb5.conf={known}"
    assert realm_option(["-Xss1m"], environment) == (option,)
    assert realm_option(["-Djava.security.krb5.conf=/mine"], environment) == ()
    assert realm_option([], {}) == realm_option([], {"KRB5_CONFIG": f"{tmp_path}/none"}) == ()
