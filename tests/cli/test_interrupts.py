"""A command that is ended from outside, or that nobody listens to: nothing half done, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.cli.query.answering import ended_by_signals
from tests.cli.command import PROGRAM, Paimark, bare_environment
from tests.eventually import eventually

# Files of a snapshot that is not the newest are looked for twice, seconds apart: time to end it in.
SLOW = ("create-savepoint", "shop.orders", "--snapshot", "3")
# As somebody who presses ctrl+c so early that the program is still being imported.
EARLY = """
import sys
from importlib.abc import MetaPathFinder

class Impatient(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "paimark.core.errors":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Impatient())
from paimark.core.cli.main import main
main()
"""


@pytest.fixture
def hang_up() -> Iterator[None]:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_end_takes_back_what_was_begun(
    paimark: Paimark, warehouse: Path, number: signal.Signals
) -> None:
    claims = warehouse / "shop.db/orders/savepoint"
    process = subprocess.Popen(
        [PROGRAM, *SLOW, "--warehouse", warehouse],
        env=bare_environment(),
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests may have it ignored, as `nohup` does.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    eventually(lambda: list(claims.glob("CLAIM-*")))
    process.send_signal(number)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130 and err.splitlines()[-1] == "paimark: Interrupted"
    assert not list(claims.glob("*-1"))
    assert (
        "nothing interrupted" in paimark("recover", "shop.orders", "--warehouse", warehouse, "--dry-run").out
    )


def test_what_is_to_be_ignored_stays_ignored(hang_up: None) -> None:
    with ended_by_signals():
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert callable(signal.getsignal(signal.SIGTERM))


def test_only_the_first_of_them_interrupts() -> None:
    """A shell that ends hangs up twice, and the second would cut short what takes the change back."""
    with ended_by_signals():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_change_goes_on_where_nobody_hears_of_it(warehouse: Path) -> None:
    """`2>&1 | head -1`: it ended before the change, with 0 as its exit code."""
    read, write = os.pipe()
    os.close(read)
    words = [str(PROGRAM), "create-savepoint", "shop.orders", "--warehouse", str(warehouse)]
    done = subprocess.run(words, env=bare_environment(), stdout=write, stderr=write, timeout=240, check=False)
    os.close(write)
    assert done.returncode == 0
    assert (warehouse / "shop.db/orders/savepoint/savepoint-1").exists()


@pytest.mark.parametrize("target", ["/dev/full", "closed pipe"])
def test_a_failure_that_nobody_hears_of_has_its_exit_code(warehouse: Path, target: str) -> None:
    words = f'"{PROGRAM}" snapshots shop.orders --bogus --warehouse "{warehouse}" 2>'
    words += "/dev/full" if target == "/dev/full" else "&1 | true; exit ${PIPESTATUS[0]}"
    ran = subprocess.run(["bash", "-c", words], env=bare_environment(), timeout=240, check=False)
    assert ran.returncode == 2


def test_an_early_interrupt_is_a_sentence() -> None:
    ran = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, timeout=240)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "paimark: Interrupted\n")
