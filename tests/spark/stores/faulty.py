"""A door to the suite's S3 that answers for data files with an error of S3's own, when it is told to."""

from __future__ import annotations

from tests.storage.local_http import Answer, Handler, LocalServer

# What the store says, by the word for it.
_STATUS = {
    "ExpiredToken": 400,
    "InvalidAccessKeyId": 403,
    "AccessDenied": 403,
    "NoSuchBucket": 404,
    "RequestTimeTooSkewed": 403,
    "SlowDown": 503,
}


class Door(LocalServer):
    """`error` is what it answers for data files: a word of S3's, `gone` for no answer; empty passes on.

    `keys` are the access keys that have not expired, None for all. `served` has the access key and the client
    of each request for a data file that was passed on.
    """

    def __init__(self, server: str) -> None:
        self.error = ""
        self.keys: set[str] | None = None
        self.served: list[tuple[str, str]] = []
        target = server.removeprefix("http://")
        door = self

        class Doorkeeper(Handler):
            def handle_request(self) -> None:
                body = self.body()
                is_data, key = "/bucket-" in self.path, self.access_key
                is_refused = door.error and is_data
                if door.keys is not None and key not in door.keys:
                    self.pass_on(_refusal("ExpiredToken"))
                elif is_refused and door.error == "gone":
                    self.close_connection = True
                elif is_refused:
                    self.pass_on(_refusal(door.error))
                else:
                    if is_data:
                        door.served.append((key, self.headers.get("User-Agent", "")))
                    self.pass_on(self.forwarded(target, body, dict(self.headers.items())))

        super().__init__(Doorkeeper)


def _refusal(error: str) -> Answer:
    body = f"<Error><Code>{error}</Code><Message>{error}</Message></Error>".encode()
    headers = (("Content-Length", str(len(body))), ("Content-Type", "application/xml"))
    return Answer(_STATUS[error], headers, body)
