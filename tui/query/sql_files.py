"""Read and write a person's `.sql` files. A write replaces the whole file, or leaves it unchanged."""

from __future__ import annotations

import errno
import os
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from pathlib import Path

from paimark.core import working_directory
from paimark.core.errors import NotFound, Refused, Unavailable
from paimark.core.regular_files import open_regular

# A larger file is hardly written by hand, and is slow in the editor.
MOST_BYTES = 1_000_000
_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_OTHER = "It is in UTF-16, as Windows saves Unicode: save it there as UTF-8."


class Changed(Refused):
    """The file at `path` has changed since it was read: it now holds `data`."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        super().__init__(f"{path} holds another text", "Nothing was written.")


@dataclass(frozen=True, slots=True)
class SqlFile:
    """`path` is absolute, with links resolved. `data` is the content of the file, `text` the same in the
    editor: without Windows' line ends, the last line end and the byte order mark."""

    path: Path
    text: str
    data: bytes

    @property
    def name(self) -> str:
        return self.path.name


def full_path(typed: str) -> Path:
    """The absolute path, with `~` and links resolved; as it is if the working directory was deleted."""
    path = os.path.expanduser(typed.strip())
    return Path(os.path.realpath(path)) if os.path.isabs(path) or working_directory.is_there() else Path(path)


def read_sql(path: Path) -> SqlFile:
    """Raises `NotFound`; `Refused` if it is no text, no regular file or too large; and `Unavailable`."""
    data = _read(path)
    if data is None:
        raise NotFound(f"There is no file {path}")
    try:
        text = data.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not text in UTF-8", _OTHER if data.startswith(_UTF_16) else "") from error
    if "\0" in text:
        raise Refused(f"{path} is not text: it holds a NUL")
    return SqlFile(path, text.replace("\r\n", "\n").removesuffix("\n"), data)


def write_sql(path: Path, text: str, over: bytes | None) -> SqlFile:
    """Replace the content of a file, which must still be `over`; None if the file must not exist yet.

    It keeps the kind of line ends, and ends the last line. Raises `Changed`, `Refused`, `NotFound` and
    `Unavailable`; then the file is unchanged.
    """
    before = _read(path)
    is_same = before is not None and over is not None and before == over
    if before is not None and not is_same:
        raise Changed(path, before)
    if not os.path.isdir(path.parent):
        raise NotFound(f"There is no directory {path.parent}")
    if before is not None and not os.access(path, os.W_OK):
        raise Refused(f"{path} is read-only")
    whole = text if text.endswith("\n") else text + "\n"
    # If all lines have Windows' line ends; a mixture is not kept.
    if before and before.count(b"\n") == before.count(b"\r\n") > 0:
        whole = whole.replace("\n", "\r\n")
    data = whole.encode("utf-8", "surrogatepass")
    if before and before.startswith(BOM_UTF8):
        data = BOM_UTF8 + data
    try:
        _replace(path, data, None if before is None else os.stat(path).st_mode & 0o7777)
    except OSError as error:
        hint = "" if before is None else "It is as it was."
        raise Unavailable(f"{path} can't be written: {error.strerror or error}", hint) from error
    return SqlFile(path, text, data)


def _read(path: Path) -> bytes | None:
    """The content of a file; None if it does not exist. Raises `Refused` and `Unavailable`."""
    if os.path.isdir(path):
        raise Refused(f"{path} is a directory", "Name a file in it.")
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENXIO):
            raise Refused(f"{path} is no regular file") from error
        raise Unavailable(f"{path} can't be read: {error.strerror or error}") from error
    if len(data) > MOST_BYTES:
        raise Refused(f"{path} is larger than 1 MB", "Run it with paimark sql -f.")
    return data


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    """Replace a file atomically, and keep its permissions. Raises `OSError`."""
    # Not longer than the longest name: the file's own may be that long.
    beside = path.with_name(f".paimark-{os.getpid()}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def completions(typed: str) -> tuple[str, list[str]]:
    """Complete a path: the part that all completions have in common, and their names.

    Directories end with a slash; hidden names are included only after a dot. Raises `Unavailable`.
    """
    directory, prefix = os.path.split(typed)
    try:
        with os.scandir(os.path.expanduser(directory) or ".") as entries:
            names = sorted(
                each.name + "/" * each.is_dir()
                for each in entries
                if each.name.startswith(prefix) and (prefix.startswith(".") or not each.name.startswith("."))
            )
    except OSError as error:
        raise Unavailable(f"{directory or '.'} can't be listed: {error.strerror or error}") from error
    names = [each for each in names if each.endswith(("/", ".sql"))] or names
    # By letters, not by path parts: they are names in one directory.
    common = os.path.commonprefix(names) or prefix  # noqa: RUF071
    return os.path.join(directory, common), names
