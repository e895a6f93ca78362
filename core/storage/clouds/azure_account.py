"""An Azure account from catalog options or the environment, with the names of Hadoop and of adlfs.

An option may end in the account's name, with or without its host: it then applies to that account only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from paimark.core.errors import UsageError

HOST = "dfs.core.windows.net"
KEY, SAS = "fs.azure.account.key", "fs.azure.sas.fixed.token"
CLIENT_ID, CLIENT_SECRET, CLIENT_ENDPOINT = (
    f"fs.azure.account.oauth2.client.{part}" for part in ("id", "secret", "endpoint")
)
AUTH_TYPE, PROVIDER = "fs.azure.account.auth.type", "fs.azure.account.oauth.provider.type"
ENDPOINT, HTTPS = "fs.azure.abfs.endpoint", "fs.azure.always.use.https"
# Hadoop asks the store which of two protocols to use, unless these options tell it.
IS_HIERARCHICAL, PROTOCOL = "fs.azure.account.hns.enabled", "fs.azure.fns.account.service.type"
OPTIONS = (KEY, SAS, CLIENT_ID, CLIENT_SECRET, CLIENT_ENDPOINT, AUTH_TYPE, PROVIDER)
WHOLE_OPTIONS = (ENDPOINT, HTTPS, IS_HIERARCHICAL, PROTOCOL)
CLIENT_PROVIDER = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
_AUTH_TYPES = {"SharedKey": (KEY,), "SAS": (SAS,), "OAuth": (CLIENT_ID, CLIENT_SECRET, CLIENT_ENDPOINT)}
_SIGN_IN = "https://login.microsoftonline.com/{tenant}/oauth2/token"


@dataclass(frozen=True, slots=True)
class AzureAccount:
    """`options` are by the names above, without an account's name. `name` is empty if none is known."""

    name: str = ""
    host: str = HOST
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_http(self) -> bool:
        return self.options.get(HTTPS, "true").lower() == "false"


def account_of(uri: str, options: Mapping[str, str]) -> AzureAccount:
    """The account that the address or, if it has none, an option names. Raises `UsageError`."""
    name, host = _account_in_address(uri)
    own = {key: value for key, value in options.items() if _option(key)}
    if not name:
        name = next((owner for key in own if (owner := _account(key)[0])), "")
    own_options = {
        option: value
        for key, value in sorted(own.items())
        for option, account in [(_option(key), _account(key)[0])]
        if account in ("", name)
    }
    account = AzureAccount(name, host, own_options)
    sign_in(account)
    return account


def sign_in(account: AzureAccount) -> str:
    """`SharedKey`, `SAS` or `OAuth`; empty if no credentials are given. Raises `UsageError`."""
    options = account.options
    likely = (kind for kind, needed in _AUTH_TYPES.items() if needed[0] in options)
    kind = options.get(AUTH_TYPE) or next(likely, "")
    if kind:
        _require_known(kind, options)
    return kind


def azure_arguments(account: AzureAccount) -> dict[str, object]:
    """The arguments for adlfs, which takes missing values from the environment."""
    options = account.options
    arguments: dict[str, object] = {}
    if account.name:
        arguments["account_name"] = account.name
    if endpoint := options.get(ENDPOINT):
        return {"connection_string": _connection(account, endpoint)}
    if account.host != HOST:
        arguments["account_host"] = f"{account.name}.{account.host.replace('dfs.', 'blob.', 1)}"
    for option, argument in ((KEY, "account_key"), (SAS, "sas_token"), (CLIENT_ID, "client_id")):
        if option in options:
            arguments[argument] = options[option]
    if CLIENT_ID in options:
        arguments["client_secret"] = options.get(CLIENT_SECRET, "")
        arguments["tenant_id"] = urlsplit(options.get(CLIENT_ENDPOINT, "")).path.strip("/").partition("/")[0]
    return arguments


def client_account(filesystem: Any) -> dict[str, str]:
    """The account of adlfs, from options or the environment, as catalog options that Hadoop also knows.

    Empty if it signs in by a way that Hadoop lacks: the Azure command line, or a machine's identity.
    """
    parts = dict(
        part.split("=", 1) for part in (filesystem.connection_string or "").split(";") if "=" in part
    )
    name = parts.get("AccountName") or filesystem.account_name
    if not name:
        return {}
    options: dict[str, str | None] = {
        f"{KEY}.{name}": parts.get("AccountKey") or filesystem.account_key,
        f"{SAS}.{name}": (parts.get("SharedAccessSignature") or filesystem.sas_token or "").lstrip("?"),
    }
    if filesystem.client_id and filesystem.client_secret:
        options[CLIENT_ID], options[CLIENT_SECRET] = filesystem.client_id, filesystem.client_secret
        options[CLIENT_ENDPOINT] = _SIGN_IN.format(tenant=filesystem.tenant_id)
    endpoint = urlsplit(parts.get("BlobEndpoint", ""))
    if endpoint.path.strip("/") == name:
        # An emulator's endpoint, with the account as a part of the path.
        options[ENDPOINT] = endpoint.netloc
        options[HTTPS] = str(endpoint.scheme == "https").lower()
    return {option: value for option, value in options.items() if value}


def _account_in_address(uri: str) -> tuple[str, str]:
    """Account and host of `abfss://container@account.host/path`; without one, empty and the usual host."""
    authority = uri.partition("://")[2].partition("/")[0]
    _, is_whole, host = authority.partition("@")
    account, _, rest = host.partition(".")
    return (account, rest.replace("blob.", "dfs.", 1) or HOST) if is_whole else ("", HOST)


def _option(key: str) -> str:
    """The name above that an option has; empty for none."""
    return next((each for each in (*OPTIONS, *WHOLE_OPTIONS) if f"{key}.".startswith(f"{each}.")), "")


def _account(key: str) -> tuple[str, str]:
    """The account that an option is for, and its host."""
    rest = key.removeprefix(_option(key)).removeprefix(".")
    account, _, host = rest.partition(".")
    return account, host


def _require_known(kind: str, options: Mapping[str, str]) -> None:
    if kind not in _AUTH_TYPES:
        raise UsageError(
            f"{AUTH_TYPE} is {kind}, which only Hadoop's client knows", f"Here: {', '.join(_AUTH_TYPES)}."
        )
    if missing := [option for option in _AUTH_TYPES[kind] if option not in options]:
        raise UsageError(f"{AUTH_TYPE} is {kind}, and {missing[0]} is not given")
    provider = options.get(PROVIDER, CLIENT_PROVIDER)
    if kind == "OAuth" and provider.rpartition(".")[2] != CLIENT_PROVIDER.rpartition(".")[2]:
        raise UsageError(f"{PROVIDER} is {provider}, which only Hadoop's client knows")


def _connection(account: AzureAccount, endpoint: str) -> str:
    """The connection string for a custom endpoint, as emulators have it, with the account in the path."""
    protocol = "http" if account.is_http else "https"
    parts = {
        "DefaultEndpointsProtocol": protocol,
        "AccountName": account.name,
        "AccountKey": account.options.get(KEY),
        "SharedAccessSignature": account.options.get(SAS),
        "BlobEndpoint": f"{protocol}://{endpoint}/{account.name}",
    }
    return ";".join(f"{name}={value}" for name, value in parts.items() if value)
