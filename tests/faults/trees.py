"""Keep a directory in memory, and restore only the differences, because full copies are slow."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class Content(bytes):
    """A file's, equal to any other of the same bytes. A recovery sees by `modified` what is new."""

    modified: int


# The content of each path below a directory; None for a directory.
Tree = dict[str, Content | None]


class TreeOnDisk:
    """Reads a directory repeatedly, and of its files only those that changed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tree: Tree = {}
        self._versions: dict[str, tuple[int, ...]] = {}

    def read(self) -> Tree:
        tree: Tree = {}
        versions: dict[str, tuple[int, ...]] = {}
        waiting = [""]
        while waiting:
            above = waiting.pop()
            for entry in os.scandir(self._directory / above):
                path = above + entry.name
                if entry.is_dir():
                    tree[path] = None
                    waiting.append(f"{path}/")
                else:
                    status = entry.stat()
                    # A file that replaces another existed beside it before, so it has another inode.
                    version = versions[path] = (status.st_ino, status.st_ctime_ns, status.st_size)
                    is_known = self._versions.get(path) == version
                    if is_known:
                        tree[path] = self._tree[path]
                    else:
                        content = tree[path] = Content(Path(entry.path).read_bytes())
                        content.modified = status.st_mtime_ns
        self._tree, self._versions = tree, versions
        return tree

    def put_back(self, tree: Tree) -> None:
        """Make the directory hold exactly the files of the tree."""
        there = self.read()
        for path, data in there.items():
            if path not in tree or (tree[path] is None) != (data is None):
                _remove(self._directory / path)
        for path, data in tree.items():
            target = self._directory / path
            if data is None:
                target.mkdir(parents=True, exist_ok=True)
                continue
            before = there.get(path)
            if before != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            if before != data or before.modified != data.modified:
                os.utime(target, ns=(data.modified, data.modified))


def _remove(path: Path) -> None:
    """Delete a file or directory, which may already be gone with its parent."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
