"""What is before an S3 may know nothing of it for a while: its 404 makes no file missing."""

from __future__ import annotations

import pytest

from paimark.core.errors import Unavailable
from paimark.core.storage.open import open_files
from tests.storage.local_http import Answer, Handler, LocalServer, s3_options
from tests.storage.s3.test_credentials import CALLS

ASKING = {name: call for name, call in CALLS.items() if not name.startswith("for ")}
# As a proxy says it whose store is being restarted, and as an S3 says it of a file.
OF_A_PROXY = Answer(404, (("Content-Type", "text/plain"), ("Content-Length", "19")), b"404 page not found\n")
NO_KEY = b"<Error><Code>NoSuchKey</Code><Message>No</Message></Error>"
OF_AN_S3 = Answer(404, (("Content-Type", "application/xml"), ("Content-Length", str(len(NO_KEY)))), NO_KEY)
OF_AMAZON = OF_AN_S3._replace(headers=(*OF_AN_S3.headers, ("x-amz-request-id", "1")))


class Always(LocalServer):
    """Gives one answer, and counts."""

    def __init__(self, answer: Answer) -> None:
        self.asked = 0
        server = self

        class Fixed(Handler):
            def handle_request(self) -> None:
                self.body()
                server.asked += 1
                self.pass_on(answer)

        super().__init__(Fixed)


def test_a_proxy_that_knows_no_store_makes_no_file_missing() -> None:
    """Lists were empty then, and deletions done."""
    with Always(OF_A_PROXY) as proxy:
        files = open_files("s3://lake/warehouse", s3_options(proxy.endpoint))
        for name, call in ASKING.items():
            with pytest.raises(Unavailable, match=r"can't be used: Not Found$") as told:
                call(files)
            assert "s3.endpoint" in told.value.hint, name


@pytest.mark.parametrize(("answer", "requests"), [(OF_AN_S3, 2), (OF_AMAZON, 1)])
def test_a_store_says_itself_that_a_file_is_missing(answer: Answer, requests: int) -> None:
    """The answer to a HEAD has no body: who has no header of S3's is asked once more."""
    with Always(answer) as store:
        files = open_files("s3://lake/warehouse", s3_options(store.endpoint))
        assert not files.exists("t/a")
        assert store.asked == requests
        assert list(files.read_many(["t/a"])) == [None]
        files.delete("t/a")
