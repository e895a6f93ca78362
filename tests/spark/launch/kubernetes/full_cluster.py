"""The API server of a Kubernetes that has no room: it takes pods, notes them, and starts none."""

from __future__ import annotations

import json
import re
import uuid
from threading import Event
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.storage.local_http import Answer, Handler, LocalServer

_PODS = re.compile(r"/api/v1/namespaces/([^/]+)/pods(?:/([^/]+))?")


class FullCluster(LocalServer):
    """`pods` are those that were asked for, by name, as Spark described them.

    With `is_mute` it begins no answer to who wants to watch them.
    """

    def __init__(self, *, is_mute: bool = False) -> None:
        self.pods: dict[str, Any] = {}
        self.requests: list[str] = []
        self._ended = Event()
        cluster = self

        class Api(Handler):
            def do_PATCH(self) -> None:
                self.handle_request()

            def handle_request(self) -> None:
                body = self.body()
                cluster.requests.append(f"{self.command} {self.path}")
                asked = urlsplit(self.path)
                is_watch = "watch" in parse_qs(asked.query)
                if is_watch and (is_mute or "Upgrade" not in self.headers):
                    self.close_connection = True
                    if not is_mute:
                        self.send_response(200)
                        self.send_header("Content-Type", "application/json")
                        self.end_headers()
                    # Nothing ever happens to a pod.
                    cluster._ended.wait()
                    return
                self.pass_on(
                    _json_answer(*cluster.answer(self.command, asked.path, json.loads(body or b"{}")))
                )

        super().__init__(Api)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Status, and the object that is told."""
        match = _PODS.fullmatch(path)
        if method == "POST":
            made = body | {"metadata": {**body["metadata"], "uid": uuid.uuid4().hex}}
            if match:
                self.pods[made["metadata"]["name"]] = made | {"status": {"phase": "Pending"}}
            return 201, made
        if match is None or method != "GET":
            return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        if match[2]:
            found = self.pods.get(match[2])
            return (200, found) if found else (404, {"kind": "Status", "apiVersion": "v1", "code": 404})
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
        return 200, listed | {"items": [*self.pods.values()]}

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        super().__exit__(*raised)

    def __enter__(self) -> Self:
        return super().__enter__()


def _json_answer(status: int, told: Any) -> Answer:
    body = json.dumps(told).encode()
    return Answer(status, (("Content-Type", "application/json"), ("Content-Length", str(len(body)))), body)
