"""What people install: one package with its data, the command, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
# Like every second project, this has packages of these names beside the script.
SCRIPT = """
import sys
import core, tui
import paimark

orders = paimark.open(sys.argv[1]).table("shop.orders")
orders.at(1).to_arrow(["order_id"])
print(core.MINE, tui.MINE, paimark.__file__, orders.create_tag(name="t"))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of what git has, built elsewhere so that nothing of an earlier build is in it."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True)
    for name in filter(None, tracked.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, source / name, follow_symlinks=False)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(place), str(source)], check=True)
    [built] = place.glob("paimark-*.whl")
    return built


def test_the_wheel_holds_one_package_with_its_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {Path(name) for name in archive.namelist()}
        scripts = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert b"paimark = paimark.core.cli.main:main" in archive.read(scripts)
    source = wheel.parent / "source"
    expected = {path.relative_to(source) for path in (source / "paimark").iterdir() if path.is_file()}
    for linked in ("core", "tui"):
        expected |= {"paimark" / p.relative_to(source) for p in (source / linked).rglob("*") if p.is_file()}
    assert {path for path in held if not path.parts[0].endswith(".dist-info")} == expected


@pytest.mark.long
def test_a_project_with_packages_of_these_names_uses_it(wheel: Path, warehouse: Path, tmp_path: Path) -> None:
    for name in ("core", "tui"):
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "project" / name / "__init__.py").write_text("MINE = 'mine'\n")
    script = tmp_path / "project" / "script.py"
    script.write_text(SCRIPT)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    # The checkout's own entry of site-packages comes behind it.
    done = subprocess.run(
        [sys.executable, str(script), str(warehouse)],
        env={"PYTHONPATH": str(tmp_path / "installed"), "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"mine mine {tmp_path}/installed/paimark/__init__.py ")
