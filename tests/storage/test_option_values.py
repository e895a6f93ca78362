"""A value that an option can't have is refused by the option's name, before anything is opened."""

from __future__ import annotations

import pytest

from paimark.core.errors import UsageError
from paimark.core.storage.option_values import require_options
from tests.wording import about

KEYS = {"s3.access-key": "k", "s3.secret-key": "s"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"s3.path.style.access": "maybe"}, ("s3.path.style.access", "true", "false", "maybe")),
        ({"fs.s3a.path_style_access": "1"}, ("fs.s3a.path_style_access", "true", "false", "1")),
        ({"s3.connection.ssl.enabled": "no"}, ("s3.connection.ssl.enabled", "true", "false", "no")),
        (
            {"s3.connection.timeout": "soon"},
            ("s3.connection.timeout", "'soon'", "milliseconds"),
        ),
        ({"s3.connection.timeout": "-5"}, ("s3.connection.timeout", "'-5'", "milliseconds")),
        ({"s3.connection-timeout": "0"}, ("s3.connection-timeout", "'0'", "milliseconds")),
        ({"fs.azure.always.use.https": "si"}, ("fs.azure.always.use.https", "true", "false", "si")),
        (
            {"fs.azure.fns.account.service.type": "FTP"},
            ("fs.azure.fns.account.service.type", "blob", "dfs", "FTP"),
        ),
        ({"hdfs.client.impl": "java"}, ("hdfs.client.impl", "native", "pyarrow", "java")),
        ({"lock.enabled": "perhaps"}, ("lock.enabled", "true", "false", "perhaps")),
        ({"metastore": "glue"}, ("metastore", "filesystem", "glue")),
        ({"paimark.verify-wait": "soon"}, ("paimark.verify-wait", "'soon'", "time")),
        ({"s3.access-key": "", "s3.secret-key": ""}, ("s3.access-key", "empty")),
        ({"s3.endpoint": " "}, ("s3.endpoint", "empty")),
        ({"s3.secret-key": "s"}, ("s3.secret-key", "without s3.access-key")),
        ({"fs.s3.accessKeyId": "k"}, ("fs.s3.accessKeyId", "without s3.secret-key")),
        ({"s3.session-token": "t"}, ("s3.session-token", "without s3.access-key", "s3.secret-key")),
        (
            {**KEYS, "fs.s3.accessKeyId": "other"},
            ("s3.access-key", "fs.s3.accessKeyId", "different"),
        ),
        (
            {"s3.region": "a", "s3.endpoint.region": "b"},
            ("s3.region", "s3.endpoint.region", "different"),
        ),
        ({"s3.endpont": "x"}, ("no", "option s3.endpont")),
        # The clients of these take their names in one spelling, and would go without it elsewhere.
        ({"FS.GS.auth.type": "UNAUTHENTICATED"}, ("no", "option FS.GS.auth.type")),
        ({"FS.azure.account.key.a": "k"}, ("no", "option FS.azure.account.key.a")),
        ({"HDFS.conf-dir": "/c"}, ("no", "option HDFS.conf-dir")),
    ],
)
def test_what_cannot_be_obeyed_is_refused(options: dict[str, str], told: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=about(*told)):
        require_options(options, "s3://lake/w")


def test_what_can_be_obeyed_passes() -> None:
    options = {
        "s3.path.style.access": "TRUE",
        "s3.connection.timeout": "5000 ms",
        "fs.s3a.connection.establish.timeout": "3000",
        "hdfs.client.impl": "native",
        "metastore": "filesystem",
        "paimark.recover-wait": "0 s",
        "fs.azure.fns.account.service.type": "Blob",
        "fs.s3.accessKeyId": "k",
    }
    require_options(KEYS | options, "s3://lake/w")
    require_options({"dfs.ha.namenodes.lake": "a,b"}, "hdfs://lake/w")
    with pytest.raises(UsageError, match=about("no", "option DFS.client.x")):
        require_options({"DFS.client.x": "1"}, "hdfs://lake/w")


@pytest.mark.parametrize(
    "same",
    [
        {"s3.path.style.access": "true", "fs.s3a.path.style.access": "True"},
        {"s3.connection.timeout": "5000", "fs.s3a.connection.timeout": "5000 ms"},
        {"s3.endpoint": "http://minio:9000", "fs.s3a.endpoint": "http://minio:9000/"},
        {"S3.region": "eu", "s3.endpoint.region": "eu "},
        KEYS | {"fs.s3.accessKeyId": "k"},
    ],
)
def test_the_same_said_twice_in_other_words_passes(same: dict[str, str]) -> None:
    require_options(same, "s3://lake/w")


def test_keys_that_last_have_an_empty_token() -> None:
    """A script that is for both kinds of keys has one variable for the token."""
    require_options(KEYS | {"s3.session-token": ""}, "s3://lake/w")
    with pytest.raises(UsageError, match=r"s3\.session-token is empty"):
        require_options({"s3.session-token": ""}, "s3://lake/w")
