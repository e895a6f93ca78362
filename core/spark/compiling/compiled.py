"""Compile Paimark's Java classes in Spark's process.

The compiler is the one that Spark ships for its queries (Janino), so no jar is needed. Compiled classes are
cached for later starts of the same Spark on the same Java.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from paimark.core.spark.compiling.jar_cache import PROPERTY, jar_path, keep_jar, read_jar, write_jar

# The package of most of the classes.
_NATIVE = "paimark.core.spark.native"


@dataclass(frozen=True, slots=True)
class Compiled:
    """Bytecode of classes, by name, and their class loader. `digest` is that of all sources."""

    loader: Any
    classes: Mapping[str, bytes]
    digest: str


# By Spark context, then by package, name and the digest of `uses`: their class loader depends on it.
_compiled: WeakKeyDictionary[SparkContext, dict[tuple[str, str, str], Compiled]] = WeakKeyDictionary()


def compiled(
    session: SparkSession, name: str, uses: Compiled | None = None, package: str = _NATIVE
) -> Compiled:
    """Compile `<name>.java` of `package`, once per Spark context. `uses` are classes that it refers to."""
    known = _compiled.setdefault(session.sparkContext, {})
    key = package, name, "" if uses is None else uses.digest
    if key not in known:
        source = (resources(package) / f"{name}.java").read_text(encoding="utf-8")
        known[key] = _compile(session, name, source, uses)
    return known[key]


def new_instance(session: SparkSession, name: str, *arguments: Any, compiler: Compiled | None = None) -> Any:
    """A new object of the class in `<name>.java`; `compiler`, if given, has that class already."""
    gateway: Any = session.sparkContext._gateway
    given = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        given[index] = argument
    made = (compiler or compiled(session, name)).loader.loadClass(name)
    return made.getConstructors()[0].newInstance(given)


def send_to_executors(session: SparkSession, name: str, *compilers: Compiled) -> None:
    """Send classes that tasks need to the executors, as a jar called `name`. Idempotent."""
    jvm: Any = session._jvm
    path = Path(jvm.java.lang.System.getProperty("java.io.tmpdir")) / name
    if path.exists():
        return
    write_jar(path, {each: code for made in compilers for each, code in made.classes.items()})
    session.sparkContext._jsc.addJar(str(path))


def _compile(session: SparkSession, name: str, source: str, uses: Compiled | None) -> Compiled:
    jvm: Any = session._jvm
    parent = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader() if uses is None else uses.loader
    digest = hashlib.sha256(f"{'' if uses is None else uses.digest}\n{source}".encode()).hexdigest()
    prefix = jvm.java.lang.System.getProperty(PROPERTY)
    if prefix is None:
        return Compiled(*_cooked(jvm, parent, source), digest)
    path = jar_path(prefix, name, digest)
    if (classes := read_jar(path)) is not None:
        return Compiled(_loader(session, path, parent), classes, digest)
    loader, classes = _cooked(jvm, parent, source)
    keep_jar(path, classes)
    return Compiled(loader, classes, digest)


def _cooked(jvm: Any, parent: Any, source: str) -> tuple[Any, dict[str, bytes]]:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return compiler.getClassLoader(), dict(compiler.getBytecodes().items())


def _loader(session: SparkSession, jar: Path, parent: Any) -> Any:
    gateway: Any = session.sparkContext._gateway
    places = gateway.new_array(gateway.jvm.java.net.URL, 1)
    places[0] = gateway.jvm.java.io.File(str(jar)).toURI().toURL()
    return gateway.jvm.java.net.URLClassLoader(places, parent)
