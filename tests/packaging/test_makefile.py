"""`make` explains itself, and says what it lacks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
COMMANDS = ["setup", "demo", "test", "test-long", "check", "screenshots", "bench"]


def make(*words: str, cwd: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path or "/usr/bin:/bin"}
    program = shutil.which("make")
    assert program
    return subprocess.run(
        [program, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_make_alone_lists_every_command() -> None:
    told = make(cwd=CHECKOUT).stdout
    for command in COMMANDS:
        assert f"make {command} " in told


def test_without_a_fitting_python_one_sentence_says_so(tmp_path: Path) -> None:
    """A Python that is found and doesn't work, as version managers leave behind, counts for nothing."""
    checkout, tools = tmp_path / "a check'out", tmp_path / "tools"
    checkout.mkdir()
    tools.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(CHECKOUT / name, checkout / name)
    for tool in ("sh", "cat", "awk"):
        path = shutil.which(tool)
        assert path
        (tools / tool).symlink_to(path)
    (tools / "python3.11").write_text("#!/bin/sh\nexit 127\n")
    (tools / "python3.11").chmod(0o755)
    done = make("setup", cwd=checkout, path=str(tools))
    assert done.returncode != 0
    assert done.stderr.startswith("Paimark needs Python 3.11, 3.12 or 3.13")
    assert not (checkout / ".venv").exists()


def test_setup_says_what_it_is_at(tmp_path: Path) -> None:
    """With a Python that does at once what takes minutes."""
    checkout, tools = tmp_path / "checkout", tmp_path / "tools"
    checkout.mkdir()
    tools.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(CHECKOUT / name, checkout / name)
    python = tools / "python3.11"
    python.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '"-m venv "*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;\n'
        "--version) echo Python 3.11 ;;\n"
        "esac\n"
    )
    python.chmod(0o755)
    done = make("setup", cwd=checkout, path=f"{tools}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    steps = [line.strip() for line in done.stderr.splitlines() if " of 4 " in line]
    assert [line[:6] for line in steps] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    assert "Spark" in steps[1]
