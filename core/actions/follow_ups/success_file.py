"""The success file of a tag: with `tag.create-success-file` jobs wait for it before they read the tag.

Stock engines write it after the tag, delete it after the tag, and leave it alone when a tag is renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.features import newest_options
from paimark.core.actions.plan import Step
from paimark.core.errors import PaimarkError
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.follow_ups.options import makes_success_files
from paimark.core.table.layout import Root


class _Times(msgspec.Struct, rename="camel"):
    """Epoch ms."""

    creation_time: int


def step(options: Mapping[str, str], root: Root, tag: str) -> Iterator[Step]:
    """The step of a plan that makes a tag."""
    if makes_success_files(options):
        yield Step("create", root.table.success_file(tag), "tells jobs that the tag is there")


def write(context: Context, root: Root, tag: str, progress: Progress) -> None:
    """Write the file of a new tag if the table wants one. The tag is made: a failure is only told of."""

    def wanted() -> None:
        path, now = root.table.success_file(tag), context.clock()
        created = _created(read_if_there(context.files, path), now)
        text = f'{{\n  "creationTime" : {created},\n  "modificationTime" : {now}\n}}'
        context.files.replace(path, text.encode())

    _attempt(context.files, root, wanted, f"tag {tag} is made, but not its success file", progress)


def delete(files: Files, root: Root, tag: str, progress: Progress) -> None:
    """Delete the file of a tag that is gone."""
    path = root.table.success_file(tag)
    _attempt(
        files, root, lambda: files.delete(path), f"tag {tag} is gone, but not its success file", progress
    )


def _created(there: bytes | None, now: int) -> int:
    """The time in the file of an earlier tag of this name, which stock engines keep."""
    try:
        return now if there is None else msgspec.json.decode(there, type=_Times).creation_time
    except msgspec.MsgspecError:
        return now


def _attempt(files: Files, root: Root, do: Callable[[], None], failed: str, progress: Progress) -> None:
    try:
        if makes_success_files(newest_options(files, root)):
            do()
    except PaimarkError as error:
        progress(Remark(f"{failed}: {error.message}"))
