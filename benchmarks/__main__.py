"""All measurements, one after another: `make bench`. Each also runs alone: `python -m benchmarks.console`."""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    "benchmarks.console",
    "benchmarks.terminal_keys",
    "benchmarks.terminal_bytes",
    "benchmarks.metadata",
    "benchmarks.reclaim",
    "benchmarks.spark_start",
    "benchmarks.spark_scans",
    "benchmarks.source_scans",
)


def main() -> int:
    # A process each: what one imports must not be in another's memory figures.
    codes = [subprocess.run([sys.executable, "-m", module], check=False).returncode for module in MODULES]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
