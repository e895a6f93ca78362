"""What people install: the packages, their data, the command, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("core", "paimark", "tui")


def test_the_wheel_holds_every_package_with_their_data_and_no_tests(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for package in (*PACKAGES, "tests"):
        shutil.copytree(CHECKOUT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(tmp_path), str(source)], check=True)
    [wheel] = tmp_path.glob("paimark-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {Path(name) for name in archive.namelist()}
        scripts = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert b"paimark = core.cli.main:main" in archive.read(scripts)
    ours = {path for path in held if not path.parts[0].endswith(".dist-info")}
    expected = [p for package in PACKAGES for p in (source / package).rglob("*") if p.is_file()]
    assert ours == {path.relative_to(source) for path in expected}
