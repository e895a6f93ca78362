"""The pins: complete, hashed, and fit for what pyproject.toml asks."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).parents[2]
PINNED = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[\w.]+)(?: --hash=sha256:[0-9a-f]{64})+")

# Extras for stores whose tests are long, and bring their clients themselves.
UNPINNED = ("gcs", "azure", "oss")


def pins() -> dict[str, str]:
    lines = (CHECKOUT / "requirements.txt").read_text().replace(" \\\n   ", "").splitlines()
    matches = [PINNED.fullmatch(line) for line in lines if line and not line.startswith("#")]
    return {match["name"]: match["version"] for match in matches if match}


def test_every_line_is_a_pin_with_hashes_and_names_no_place() -> None:
    text = (CHECKOUT / "requirements.txt").read_text()
    names = [line for line in text.splitlines() if line and line[0] not in " #"]
    assert len(names) == len(pins())
    assert "/" not in text


def test_the_pins_fit_what_the_project_asks_for() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for name, extra in project["optional-dependencies"].items():
        if name not in UNPINNED:
            wanted += extra
    pinned = pins()
    for text in wanted:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


def test_the_installed_packages_fit_each_other() -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
