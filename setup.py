"""Everything is in pyproject.toml, but that a wheel holds the engine's jar of its very sources."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithEngine(build_py):
    def run(self) -> None:
        sys.path.insert(0, str(Path(__file__).parent))
        # Nothing of this import belongs into the wheel.
        sys.dont_write_bytecode = True
        from paimark.core.spark.java.sources import is_whole

        # An editable install compiles it itself (`make setup`), whenever its sources are newer.
        if not self.editable_mode and not is_whole():
            raise SystemExit("paimark: the engine's Java is newer than its jar: run `make setup` first.")
        super().run()


setup(cmdclass={"build_py": WithEngine})
