"""A warehouse on an object store or HDFS, over fsspec: one request per file, many in parallel."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, NoReturn

from paimark.core.errors import FileMissing, PaimarkError, Refused
from paimark.core.storage.conditions import PROOFS, Conditions, raced
from paimark.core.storage.files import DirectoryEntry, NotMetadata, Unanswered, delete_if_own
from paimark.core.storage.paths import checked, checked_directory, no_warehouse
from paimark.core.storage.remote_errors import is_missing, is_passing, is_refusal, unavailable

IN_FLIGHT = 32
INTERRUPTED = "Interrupted before the store had answered"
_DEADLINE_SECONDS = 10.0
# fsspec requests all pages of a listing in one call.
LISTING_SECONDS = 60.0
# A write may take longer, at this rate, which allows for a slow link.
_BYTES_A_SECOND = 250_000
# A copy inside the store, at a rate that a busy store still has.
_COPIED_A_SECOND = 10_000_000
# The additional time for the event loop of an asynchronous client.
_LOOP_SECONDS = 1.0
# Files requested ahead of the reader: enough to keep every connection busy, few enough to hold in memory.
_CHUNK = 128
_CHUNKS_AHEAD = 2
_TRIES_AGAIN = 4

# A file's bytes, None for a missing file, or the reason why it was not read.
ReadResult = bytes | None | NotMetadata


class RemoteFiles:
    """Implements `Files` for any fsspec file system; stores with calls of their own derive from it.

    `filesystem` is fsspec's object, with its listing cache off. `can_create`: its `pipe_file(mode="create")`
    is one conditional request; fsspec's own fallback checks first and then writes, so two creators can both
    win. `must_prove`: whether the store keeps such a condition is unknown until writers have raced for it.
    `deadline` is the number of seconds for a call that transfers no file contents.
    """

    def __init__(
        self,
        filesystem: Any,
        root: str,
        uri: str,
        *,
        can_create: bool,
        must_prove: bool = False,
        deadline: float = _DEADLINE_SECONDS,
    ) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self._uri = uri
        self._can_create = can_create
        self.must_prove = must_prove
        self._deadline = deadline

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def filesystem(self) -> Any:
        """fsspec's file system, for other readers of the same store."""
        return self._filesystem

    def discovered_options(self) -> dict[str, str]:
        """The options that only this client knows, as catalog options for other clients. Sends no request."""
        return {}

    def options_for_others(self, options: Mapping[str, str]) -> dict[str, str]:
        """The catalog options, with `discovered_options`. May hold secrets."""
        return self.discovered_options() | dict(options)

    def entries(self, directory: str) -> list[DirectoryEntry]:
        path = self._directory(directory)
        try:
            with self._translate_errors(directory):
                entries = self._list(path)
        except FileMissing:
            entries = []
        if not entries and not directory:
            raise no_warehouse(self._uri)
        return entries

    def names(self, directory: str) -> list[str]:
        return [entry.name for entry in self.entries(directory)]

    def etags(self, directory: str) -> dict[str, str | None]:
        return {entry.name: entry.etag for entry in self.entries(directory)}

    def read(self, path: str) -> bytes:
        (data,) = self._read_each([path])
        if data is None:
            raise FileMissing(path)
        if isinstance(data, NotMetadata):
            raise data.corrupt(path)
        return data

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        return (b"" if isinstance(data, NotMetadata) else data for data in self._read_each(paths))

    def _read_each(self, paths: Iterable[str]) -> Iterator[ReadResult]:
        chunks = _chunks(paths)
        if self._filesystem.async_impl:
            return self._read_async(chunks)
        return self._read_in_threads(chunks)

    def exists(self, path: str) -> bool:
        return self.size(path) is not None

    def size(self, path: str) -> int | None:
        full = self._file(path)
        try:
            with self._translate_errors(path):
                return self._size(full)
        except FileMissing:
            return None

    def links(self, directories: Iterable[str]) -> list[str]:
        return []

    def create(self, path: str, data: bytes) -> bool:
        checked(path)
        self.require_conditions()
        return self.put_new(path, data)

    def require_conditions(self) -> None:
        """Raises `Refused` if the store does not keep the conditions of writes, or may not."""
        if self.must_prove:
            PROOFS.require(self._store, self._uri, self._first_look)

    def race(self, *, deletions: bool = False) -> Conditions:
        """Let writers race for scratch files, to find out whether the store keeps conditions."""
        if not self._can_create:
            return Conditions("it has no way to let only one of two writers win")
        return raced(self, deletions=deletions) if self.must_prove else Conditions()

    def _first_look(self) -> Conditions:
        return self.race()

    def put_new(self, path: str, data: bytes) -> bool:
        """As `create`, without a proof that the store keeps conditions."""
        full = self._file(path)
        with self._translate_errors(path, writes=True):
            return self._create(full, data)

    def put_over(self, path: str, data: bytes, etag: str) -> bool | None:
        """Replace a file on the condition that it has this etag; None if the store has no such condition."""
        return None

    def delete_if(self, path: str, etag: str) -> bool | None:
        """Delete a file on the condition that it has this etag; None if the store has no such condition."""
        return None

    def etag_of(self, path: str) -> str | None:
        """The etag of a file; empty if the store gives none, None if there is no file."""
        return "" if self.exists(path) else None

    def replace(self, path: str, data: bytes) -> None:
        full = self._file(path)
        with self._translate_errors(path, writes=True):
            self._replace(full, data)

    def delete(self, path: str) -> None:
        full = self._file(path)
        try:
            with self._translate_errors(path, writes=True):
                self._remove(full)
        except FileMissing:
            return

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        delete_if_own(self, path, is_own)

    def make_directory(self, directory: str) -> None:
        with self._translate_errors(directory, writes=True):
            self._call("makedirs", self._file(directory), exist_ok=True, writes=True)

    def prune(self, directory: str) -> None:
        """Object stores have no directories."""
        checked(directory)

    def move(self, directory: str, to: str) -> None:
        checked(directory)
        raise Refused(
            f"{self._uri} can't move a directory in one step: object stores have none",
            "Nothing was changed.",
        )

    def copy(self, path: str, to: str, size: int) -> None:
        full, target = self._file(path), self._file(to)
        with self._translate_errors(path, writes=True):
            self._copy(full, target, size, self._deadline + size / _COPIED_A_SECOND)

    def give_up_copies(self, directory: str, is_own: Callable[[str], bool]) -> int:
        """As `open.give_up_copies`: most stores copy a file in one request."""
        return 0

    def _copy(self, full: str, to: str, size: int, seconds: float) -> None:
        self._call("cp_file", full, to, deadline=seconds, writes=True)

    @property
    def _store(self) -> str:
        """The key of a proof: the address of the bucket."""
        scheme, _, location = self._uri.partition("://")
        return f"{scheme}://{location.partition('/')[0]}"

    def _list(self, full: str) -> list[DirectoryEntry]:
        entries = []
        for item in self._call("ls", full, detail=True, deadline=LISTING_SECONDS):
            name = item["name"].rstrip("/")
            # The listing of a file is the file itself; and some stores list a directory's own marker.
            if name.lstrip("/") != full.lstrip("/"):
                is_directory = item["type"] == "directory"
                size = 0 if is_directory else item["size"] or 0
                modified = 0 if is_directory else _modified(item)
                entries.append(
                    DirectoryEntry(
                        name.rpartition("/")[2], is_directory, size, modified, etag=item.get("etag")
                    )
                )
        return entries

    def _size(self, full: str) -> int | None:
        info = self._call("info", full)
        return info["size"] if info["type"] == "file" else None

    def _create(self, full: str, data: bytes) -> bool:
        try:
            self._put(full, data, mode="create")
        except FileExistsError:
            return False
        return True

    def _replace(self, full: str, data: bytes) -> None:
        self._put(full, data)

    def _put(self, full: str, data: bytes, **arguments: object) -> None:
        self._call("pipe_file", full, data, deadline=self._patience(data), writes=True, **arguments)

    def _remove(self, full: str) -> None:
        self._call("rm_file", full, writes=True)

    def _patience(self, data: bytes) -> float:
        """The number of seconds that a write of this data may take."""
        return self._deadline + len(data) / _BYTES_A_SECOND

    def _call(
        self,
        method: str,
        *arguments: object,
        deadline: float | None = None,
        writes: bool = False,
        **keywords: object,
    ) -> Any:
        """Call one of the file system's methods."""
        if not self._filesystem.async_impl:
            return getattr(self._filesystem, method)(*arguments, **keywords)
        request = getattr(self._filesystem, f"_{method}")(*arguments, **keywords)
        return self._answer(request, deadline or self._deadline, writes=writes)

    def _answer(self, request: Awaitable[Any], seconds: float, *, writes: bool = False) -> Any:
        """The answer of an asynchronous client, with a time limit: some clients wait for ever.

        A write is awaited even after ctrl+c, because it can't be taken back once it is sent.
        """
        answer = asyncio.run_coroutine_threadsafe(asyncio.wait_for(request, seconds), self._filesystem.loop)
        until = time.monotonic() + seconds + _LOOP_SECONDS
        try:
            return answer.result(seconds + _LOOP_SECONDS)
        except KeyboardInterrupt as interrupt:
            if not writes:
                answer.cancel()
                raise
            _stop_after(answer, until - time.monotonic(), interrupt)

    def _file(self, path: str) -> str:
        return f"{self._root}/{checked(path)}"

    def _directory(self, path: str) -> str:
        return f"{self._root}/{checked_directory(path)}" if path else self._root

    async def _get(self, full: str) -> bytes:
        """Read a whole file with an asynchronous client. Raises `NotMetadata`."""
        data: bytes = await self._filesystem._cat_file(full)
        return data

    def _get_in_thread(self, full: str) -> bytes:
        """As `_get`, with a synchronous client."""
        data: bytes = self._filesystem.cat_file(full)
        return data

    def _read_async(self, chunks: Iterator[list[str]]) -> Iterator[ReadResult]:
        limit = asyncio.Semaphore(IN_FLIGHT)
        ahead: deque[Future[list[ReadResult]]] = deque()
        try:
            while True:
                for chunk in islice(chunks, _CHUNKS_AHEAD - len(ahead)):
                    reading = self._read_chunk([self._file(path) for path in chunk], limit)
                    ahead.append(asyncio.run_coroutine_threadsafe(reading, self._filesystem.loop))
                if not ahead:
                    return
                with self._translate_errors(""):
                    contents = ahead[0].result()
                ahead.popleft()
                yield from contents
        finally:
            for unfinished in ahead:
                unfinished.cancel()

    async def _read_chunk(self, paths: list[str], limit: asyncio.Semaphore) -> list[ReadResult]:
        async def read(path: str) -> ReadResult:
            async with limit:
                for attempt in itertools.count():
                    try:
                        return await self._get(path)
                    except NotMetadata as error:
                        return error
                    # The clients' own families of errors; all but two kinds are passed to the caller.
                    except Exception as error:
                        if self._is_missing(error):
                            return None
                        if not is_passing(error) or attempt == _TRIES_AGAIN:
                            raise
                    await asyncio.sleep((0.1 + random.random() / 10) * 2**attempt)
                raise AssertionError("unreachable: every attempt returns or raises")

        tasks = [asyncio.ensure_future(read(path)) for path in paths]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    def _read_in_threads(self, chunks: Iterator[list[str]]) -> Iterator[ReadResult]:
        def read(path: str) -> ReadResult:
            full = self._file(path)
            try:
                with self._translate_errors(path):
                    return self._get_in_thread(full)
            except FileMissing:
                return None
            except NotMetadata as error:
                return error

        with ThreadPoolExecutor(IN_FLIGHT) as threads:
            for chunk in chunks:
                yield from threads.map(read, chunk)

    def _is_missing(self, error: BaseException) -> bool:
        """Whether the store says that there is no such file; a missing local file does not count."""
        return is_missing(error)

    @contextmanager
    def _translate_errors(self, path: str, *, writes: bool = False) -> Iterator[None]:
        try:
            yield
        except (PaimarkError, NotMetadata):
            raise
        # The edge to foreign clients: each store's library has its own family of errors.
        except Exception as error:
            if self._is_missing(error):
                raise FileMissing(path) from error
            failure = unavailable(self._uri, error)
            if writes and not is_refusal(error):
                failure = Unanswered(failure.message, failure.hint)
            raise failure from error


def _stop_after(answer: Future[Any], seconds: float, interrupt: KeyboardInterrupt) -> NoReturn:
    """Stop once a write is answered. Raises the interrupt; without an answer it raises the error instead,
    because nothing may be taken back that the store may still do. A second ctrl+c does not wait.
    """
    try:
        answer.result(max(seconds, 0))
    except KeyboardInterrupt:
        raise Unanswered(INTERRUPTED) from interrupt
    except Exception as error:
        is_answer = is_refusal(error) or isinstance(error, FileExistsError | FileNotFoundError)
        if not is_answer:
            raise
    raise interrupt


def _modified(item: Mapping[str, Any]) -> int:
    """When a file was written (epoch ms), under any of the clients' names for it."""
    for name in ("mtime", "last_modified", "LastModified", "created"):
        match item.get(name):
            case datetime() as moment:
                return int(moment.timestamp() * 1000)
            case float() as seconds:
                return int(seconds * 1000)
    return 0


def _chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    left = iter(paths)
    while chunk := list(islice(left, _CHUNK)):
        yield chunk
