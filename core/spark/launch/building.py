"""Compile the engine's jar, and fetch Paimon's library: `python -m paimark.core.spark.launch.building`.

`make setup` runs it. The jar is in the repository, so that only who changes the Java compiles it: always with
the same compiler, an ordinary javac as a jar, so that the same sources make the same classes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.spark.java.sources import is_whole, sources, write_jar
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.launch.java import OLDEST, Java, find_java
from paimark.core.spark.stores.jars import (
    JarSet,
    cached_jars,
    directory_of,
    fetch,
    install,
    is_installed,
    jar_sets,
    read_jar_set,
)

_OPTIONS = ("-nowarn", "-proc:none", "-encoding", "UTF-8", "-source", str(OLDEST), "-target", str(OLDEST))


def build() -> None:
    """Compile the jar unless it is up to date.

    Raises `Unavailable` if there is no Java, if the compiler or Paimon's library can't be fetched, or if the
    compiler finds an error.
    """
    if is_whole():
        return
    spark, java = find_spark({}), find_java()
    library = _fetched(jar_sets()["paimon"], spark, java)
    text = (resources(__package__) / "compiler.txt").read_text(encoding="utf-8")
    [compiler] = _fetched(read_jar_set("compiler", text), spark, java)
    with tempfile.TemporaryDirectory() as scratch:
        _compile([str(java.executable), "-jar", str(compiler)], [*spark.jars, *library], Path(scratch))
        write_jar(Path(scratch) / "classes")


def _fetched(jars: JarSet, spark: SparkHome, java: Java) -> list[Path]:
    if not directory_of(jars).exists():
        print(f"  {jars.purpose}: fetched once", file=sys.stderr)
    fetch(jars, spark, spark.defaults(), lambda: java.executable)
    return cached_jars(jars)


def _compile(compiler: Sequence[str], jars: Sequence[Path], scratch: Path) -> None:
    words = [*_OPTIONS, "-cp", os.pathsep.join(map(str, jars)), "-d", str(scratch / "classes")]
    arguments = scratch / "arguments"
    arguments.write_text("\n".join(f'"{word}"' for word in (*words, *sources())))
    done = subprocess.run([*compiler, f"@{arguments}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"The engine's Java can't be compiled:\n{done.stdout}{done.stderr}")


def main() -> int:
    try:
        build()
    except PaimarkError as error:
        print(f"paimark: {error.message}. {error.hint}", file=sys.stderr)
        return 1
    library = jar_sets()["paimon"]
    try:
        if not is_installed(library):
            _fetched(library, find_spark({}), find_java())
            install(library)
    except PaimarkError as error:
        print(f"paimark: {error.message}. Without it only Spark's own readers read tables.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
