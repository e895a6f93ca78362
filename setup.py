"""Everything is in pyproject.toml, but that a wheel holds the engine's Java compiled."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithEngine(build_py):
    def run(self) -> None:
        # A checkout compiles it by itself (`make setup`), whenever its sources are newer.
        if not self.editable_mode:
            sys.path.insert(0, str(Path(__file__).parent))
            from paimark.core.spark.launch.building import build

            if remark := build():
                raise SystemExit(f"paimark: a wheel needs the whole engine. {remark}.")
        super().run()


setup(cmdclass={"build_py": WithEngine})
