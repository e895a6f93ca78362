"""Find the Spark to start, and read its configuration files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from paimark.core.errors import Unavailable

_CORE_JAR = re.compile(r"spark-core_([0-9.]+)-([0-9][^/]*)\.jar")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A key ends at the first of these characters without a backslash before it.
_ENTRY = re.compile(r"((?:\\.|[^\\\s=:])+)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SparkHome:
    """`home` has the jars; `configuration` is the directory for configuration files, which may not exist."""

    home: Path
    configuration: Path

    @property
    def jars(self) -> list[Path]:
        return sorted((self.home / "jars").glob("*.jar"))

    @property
    def is_of_pyspark(self) -> bool:
        """Whether it is the Spark of this Python's PySpark."""
        return self.home == _own_home()

    @property
    def scala(self) -> str:
        """The version of Scala that it was built for; empty if there is no Spark."""
        jar = _core_jar(self.home)
        return jar[1] if jar else ""

    @property
    def hadoop(self) -> str:
        """The version of Hadoop that it contains; empty for none."""
        jar = next(self.home.glob("jars/hadoop-client-api-*.jar"), None)
        return jar.stem.rpartition("-")[2] if jar else ""

    def defaults(self) -> dict[str, str]:
        """The settings of spark-defaults.conf; empty if it does not exist. Raises `Unavailable`."""
        path = self.configuration / "spark-defaults.conf"
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(
                f"{path} can't be read: {error}", "Correct it, or unset SPARK_CONF_DIR."
            ) from error
        return {name: value.strip() for name, value in _properties(text) if name.startswith("spark.")}


def find_spark(environment: Mapping[str, str] = os.environ) -> SparkHome:
    """The Spark of SPARK_HOME; or that of PySpark, if SPARK_HOME is unset or of another version.

    Raises `Unavailable` if PySpark is not installed.
    """
    own = _own_home()
    if own is None:
        raise Unavailable("PySpark is not installed", "Install it with `pip install 'pyspark>=4.1,<5'`.")
    set_home = environment.get("SPARK_HOME")
    home = Path(set_home) if set_home else own
    if set_home and other_version(home):
        print(
            f"paimark: SPARK_HOME={home} is not the Spark of this PySpark and is left aside", file=sys.stderr
        )
        home = own
    configuration = environment.get("SPARK_CONF_DIR") or str((Path(set_home) if set_home else own) / "conf")
    return SparkHome(home, Path(configuration))


def _own_home() -> Path | None:
    package = find_spec("pyspark")
    return Path(package.origin).parent if package is not None and package.origin is not None else None


def other_version(home: Path) -> str:
    """The version of a Spark that our PySpark can't use (`none` if there is no Spark); empty if it can."""
    jar = _core_jar(home)
    their_version = jar[2] if jar else "none"
    return "" if _line(their_version) == _line(pyspark_version()) else their_version


def pyspark_version() -> str:
    for name in ("pyspark", "pyspark-client"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"


def _core_jar(home: Path) -> re.Match[str] | None:
    return next(filter(None, (_CORE_JAR.fullmatch(each.name) for each in home.glob("jars/*.jar"))), None)


def _line(number: str) -> list[str]:
    return number.split(".")[:2]


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a Java properties file."""
    joined = ""
    for line in text.splitlines():
        joined += line.lstrip()
        if not joined or (joined == line.lstrip() and joined[0] in "#!"):
            joined = ""
            continue
        if (len(joined) - len(joined.rstrip("\\"))) % 2:
            joined = joined[:-1]
            continue
        if entry := _ENTRY.fullmatch(joined):
            yield _unescaped(entry[1]), _unescaped(entry[2])
        joined = ""


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _NAMED.get(match[2], match[2]), text
    )
