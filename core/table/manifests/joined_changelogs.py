"""Changelog files of several buckets that a job of Flink joined to one, with `changelog.precommit-compact`.

The one file lies in the first bucket, as `compacted-changelog-<uuid>$<bucket>-<length>.<format>`. Those of
other buckets are ranges of it, in bytes, and in their own buckets no such file is:
`compacted-changelog-<uuid>$<bucket>-<length>-<offset>-<length>.<format>`. Manifests record the size of each
range, that of the first bucket included.
"""

from __future__ import annotations

import re

_PREFIX = "compacted-changelog-"
_NAME = re.compile(rf"({_PREFIX}[^$/]+\$(\d+)-\d+)(?:-\d+-\d+)?(\.[^/]+)", re.DOTALL)


def is_joined(name: str) -> bool:
    """Whether a file of this name has no size of its own: it is a range of a file, or begins with one."""
    return name.startswith(_PREFIX) and _NAME.fullmatch(name) is not None


def file_name(name: str) -> str:
    """The name of the file that has the bytes."""
    match = _NAME.fullmatch(name) if name.startswith(_PREFIX) else None
    return name if match is None else f"{match[1]}{match[3]}"


def file_path(path: str) -> str:
    """The path of the file that has the bytes: another bucket's for a range."""
    bucket, _, name = path.rpartition("/")
    match = _NAME.fullmatch(name) if name.startswith(_PREFIX) else None
    return path if match is None else f"{bucket.rpartition('/')[0]}/bucket-{match[2]}/{match[1]}{match[3]}"
