"""Compile the engine's jar: `python -m paimark.core.spark.launch.building`.

A checkout does it at `make setup`, and a wheel when it is built. A JDK's javac compiles, or, where Java has
no compiler, the same javac as a jar.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.spark.java.sources import digest, is_whole, sources, write_jar
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.launch.java import OLDEST, Java, find_java
from paimark.core.spark.stores.jars.cached import cached_jars
from paimark.core.spark.stores.jars.fetching import fetch
from paimark.core.spark.stores.jars.lists import JarSet, jar_sets, read_jar_set

_OPTIONS = ("-nowarn", "-proc:none", "-encoding", "UTF-8", "-source", str(OLDEST), "-target", str(OLDEST))


def build() -> str:
    """Compile the jar unless it is up to date. Returns a remark, which is empty if nothing is missing.

    Without Paimon's library, which may be out of reach, the jar has only what does without it. Raises
    `Unavailable` if there is no Java or no compiler, or if it finds an error.
    """
    if is_whole(digest(sources())):
        return ""
    spark, java = find_spark({}), find_java()
    library, remark = None, ""
    try:
        library = fetched(jar_sets()["paimon"], spark, java)
    except Unavailable as error:
        remark = f"{error.message}. Without it only Spark's own readers read tables"
    compiled = sources(with_library=library is not None)
    if not is_whole(digest(compiled)):
        with tempfile.TemporaryDirectory() as scratch:
            _compile(_compiler(spark, java), compiled, [*spark.jars, *(library or ())], Path(scratch))
            write_jar(Path(scratch) / "classes", digest(compiled))
    return remark


def fetched(jars: JarSet, spark: SparkHome, java: Java) -> list[Path]:
    fetch(jars, spark, spark.defaults(), lambda: java.executable)
    return cached_jars(jars)


def _compiler(spark: SparkHome, java: Java) -> list[str]:
    if javac := shutil.which("javac", path=str(java.executable.resolve().parent)):
        return [javac]
    text = (resources(__package__) / "compiler.txt").read_text(encoding="utf-8")
    [jar] = fetched(read_jar_set("compiler", text), spark, java)
    return [str(java.executable), "-jar", str(jar)]


def _compile(compiler: Sequence[str], files: Sequence[Path], jars: Sequence[Path], scratch: Path) -> None:
    words = [*_OPTIONS, "-cp", os.pathsep.join(map(str, jars)), "-d", str(scratch / "classes")]
    arguments = scratch / "arguments"
    arguments.write_text("\n".join(f'"{word}"' for word in (*words, *files)))
    done = subprocess.run([*compiler, f"@{arguments}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"The engine's Java can't be compiled:\n{done.stdout}{done.stderr}")


def main() -> int:
    try:
        if remark := build():
            print(f"paimark: {remark}.", file=sys.stderr)
    except PaimarkError as error:
        print(f"paimark: {error.message}. {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
