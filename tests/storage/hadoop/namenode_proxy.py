"""A way to a NameNode that loses answers: the NameNode acts, and the client hears nothing of it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

_PREAMBLE = 7


class NameNodeProxy:
    """Loses the next answer to each call that is named in `loses`; `lost` are those it has lost."""

    def __init__(self, host: str, port: int) -> None:
        self.loses: list[str] = []
        self.lost: list[str] = []
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._talk, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for each in [*self._open]:
            each.close()

    def _talk(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, suppress(OSError, EOFError):
            self._open |= {client, server}
            server.sendall(_exactly(client, _PREAMBLE))
            is_deaf = Event()
            answers = Thread(target=_pass_on, args=(server, client, is_deaf), daemon=True)
            answers.start()
            while True:
                call = _frame(client)
                name = next((each for each in self.loses if _names(call, each)), "")
                if not name:
                    server.sendall(call)
                    continue
                self.loses.remove(name)
                is_deaf.set()
                server.sendall(call)
                # Until it has answered, that is, has acted.
                answers.join(10)
                self.lost.append(name)
                return


def _names(call: bytes, method: str) -> bool:
    """Whether a frame has this method's name, as protobuf writes a text in its first field."""
    return b"\n" + bytes([len(method)]) + method.encode() in call


def _frame(source: socket.socket) -> bytes:
    length = _exactly(source, 4)
    return length + _exactly(source, struct.unpack(">i", length)[0])


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _pass_on(source: socket.socket, target: socket.socket, is_deaf: Event) -> None:
    with suppress(OSError):
        while (data := source.recv(65536)) and not is_deaf.is_set():
            target.sendall(data)


@contextmanager
def namenode_proxy(address: str) -> Iterator[NameNodeProxy]:
    """Before the NameNode at `hdfs://host:port`."""
    host, _, port = address.removeprefix("hdfs://").partition(":")
    proxy = NameNodeProxy(host, int(port))
    Thread(target=proxy.serve, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()
