"""What the first frame costs in imports, looked at from outside."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from paimark.tui.screens.browse import BrowseScreen
from tests.tui.driving import sitting

_HEAVY = {"pyarrow", "pandas", "polars", "numpy", "pypaimon", "pyspark", "fsspec", "sqlglot", "fastavro"}
_LATER = {
    "textual.widgets._text_area",
    "textual.widgets._data_table",
    "textual.widgets._markdown",
    "textual.command",
    "textual.widgets._select",
    # These two load OpenSSL.
    "ssl",
    "hashlib",
    "pickle",
    "difflib",
    "mimetypes",
}

_SCRIPT = """
import json, sys
from paimark.core.config import Settings
from paimark.tui.opening import Opening
from paimark.tui.session import Session

session = Session(Settings(sys.argv[1]))
opening = Opening(session)
opening.start()

from paimark.tui.terminal.light_import import import_textual

import_textual()
from paimark.tui.console import Console

console = Console(session, opening, start_engine=False)
seen = {}

async def look(pilot):
    for _ in range(1000):
        if console.browse.snapshots.grid.count:
            break
        await pilot.pause(0.01)
    await pilot.pause(0.2)
    seen["rows"] = console.browse.snapshots.grid.count
    seen["modules"] = sorted(sys.modules)
    # What starts Spark afterwards belongs to this process too.
    import paimark.core.spark.client.client
    seen["with_engine"] = sorted(sys.modules)
    console.exit()

console.run(headless=True, auto_pilot=look)
print(json.dumps(seen))
"""


def test_the_first_frame_shows_rows_and_has_imported_nothing_heavy(warehouse: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(warehouse)],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["rows"] == 2
    assert not _HEAVY & {name.split(".")[0] for name in seen["modules"]}
    assert not _LATER & set(seen["modules"])
    assert not _HEAVY & {name.split(".")[0] for name in seen["with_engine"]}


_LIGHT = """
import sys
from paimark.tui.terminal import light_import

if sys.argv[1] == "newer":
    # A Textual that takes one more class of the palette.
    classes = light_import._NEVER["textual.command"]
    light_import._NEVER["textual.command"] = [each for each in classes if each != "Provider"]
light_import.import_textual()
import textual.app
print("textual.command" in sys.modules, "platformdirs" in sys.modules)
print(textual.app.user_downloads_path())
import platformdirs, textual.command
print(platformdirs.user_downloads_path())
print(textual.command.Provider.__module__, textual.command.CommandPalette.__mro__[1].__name__)
from textual.theme import ThemeProvider
print(ThemeProvider.__mro__[1].__module__)
"""


@pytest.mark.parametrize(("version", "is_whole"), [("known", False), ("newer", True)])
def test_textual_is_imported_without_its_palette_unless_it_needs_more(version: str, is_whole: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LIGHT, version], capture_output=True, text=True, timeout=240, check=True
    )
    loaded, downloads, real_downloads, palette, provider = done.stdout.splitlines()
    assert loaded == f"{is_whole} {is_whole}"
    assert downloads == real_downloads
    assert palette == "textual.command SystemModalScreen"
    assert (provider == "textual.command") is is_whole


_USES = """
import sys
from paimark.tui.terminal.light_import import import_textual

import_textual()
assert "ssl" not in sys.modules and "asyncio.sslproto" not in sys.modules
import asyncio
certificate, key = sys.argv[1:]

async def talk():
    import ssl

    async def answer(reader, writer):
        writer.write(await reader.readline())
        writer.close()

    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving) as server:
        port = server.sockets[0].getsockname()[1]
        trusting = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection("localhost", port, ssl=trusting)
        writer.write(b"hello\\n")
        print((await reader.readline()).decode().strip(), writer.get_extra_info("cipher") is not None)
        writer.close()

asyncio.run(talk())
print(isinstance(asyncio.sslproto.SSLProtocol, type))

from rich.style import Style
print(Style.from_meta({"action": "open"}).meta)

import textual.app
print(textual.app.mimetypes.guess_type("a.csv")[0])

from textual.suggestions import get_suggestion
print(get_suggestion("colour", ["color", "border"]))

from textual.css.stylesheet import Stylesheet
print(Stylesheet().parse_style("bold").bold)

from textual import layout
print(layout.Canvas(3, 2).width)
"""


def _certificate(place: Path) -> tuple[str, str]:
    """The files of a certificate for localhost, which signs itself, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, open_to_all = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (place / "certificate").write_bytes(signed.public_bytes(pem))
    (place / "key").write_bytes(key.private_bytes(pem, form, open_to_all))
    return str(place / "certificate"), str(place / "key")


def test_what_was_not_imported_works_when_it_is_used(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _USES, *_certificate(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "hello True",
        "True",
        "{'action': 'open'}",
        "text/csv",
        "color",
        "True",
        "3",
    ], done.stderr


async def test_a_small_terminal_is_painted_once(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[frozenset[str]] = []
    lay_out = BrowseScreen._refresh_layout

    def noted(screen: BrowseScreen, *how: Any, **named: Any) -> None:
        laid_out.append(screen.classes)
        lay_out(screen, *how, **named)

    monkeypatch.setattr(BrowseScreen, "_refresh_layout", noted)
    async with sitting(warehouse, (80, 24)):
        assert laid_out
        assert all({"-narrow", "-short"} <= classes for classes in laid_out)
