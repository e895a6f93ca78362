"""Java classes of ours for Spark's process.

Compiled once a Spark by the compiler that Spark carries for its queries (Janino): there is no jar to bring.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib.resources import files as resources
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

# By Spark, then by package and name.
_compiled: WeakKeyDictionary[SparkContext, dict[tuple[str, str], Any]] = WeakKeyDictionary()


def compiled(session: SparkSession, name: str, uses: Any = None, package: str = __package__) -> Any:
    """The compiler of `<name>.java`, done. `uses` is the one of what its classes know of ours."""
    known = _compiled.setdefault(session.sparkContext, {})
    if (package, name) not in known:
        known[package, name] = _cooked(session, name, uses, package)
    return known[package, name]


def _cooked(session: SparkSession, name: str, uses: Any, package: str) -> Any:
    jvm: Any = session._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    spark = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    compiler.setParentClassLoader(spark if uses is None else uses.getClassLoader())
    compiler.cook((resources(package) / f"{name}.java").read_text(encoding="utf-8"))
    return compiler


def new_instance(session: SparkSession, name: str, *arguments: Any, compiler: Any = None) -> Any:
    """An object of the class in `<name>.java`, which `compiler` has compiled already where there is one."""
    gateway: Any = session.sparkContext._gateway
    given = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        given[index] = argument
    made = (compiler or compiled(session, name)).getClassLoader().loadClass(name)
    return made.getConstructors()[0].newInstance(given)


def send_to_executors(session: SparkSession, name: str, *compilers: Any) -> None:
    """For classes that travel with tasks. `name` is that of their jar, which is sent once."""
    jvm: Any = session._jvm
    path = Path(jvm.java.lang.System.getProperty("java.io.tmpdir")) / name
    if path.exists():
        return
    with zipfile.ZipFile(path, "w") as jar:
        for compiler in compilers:
            classes: Mapping[str, bytes] = compiler.getBytecodes()
            for each, code in classes.items():
                jar.writestr(f"{each}.class", code)
    session.sparkContext._jsc.addJar(str(path))
