"""Find the Spark to start, its configuration files, and the time zone that its sessions have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.travel.times import zone_of

_CORE_JAR = re.compile(r"spark-core_([0-9.]+)-([0-9][^/]*)\.jar")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A key ends at the first of these characters without a backslash before it.
_ENTRY = re.compile(r"((?:\\.|[^\\\s=:])+)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ZONE = "spark.sql.session.timeZone"
_MOST_CLASSES = ("scala-library-", "spark-")
_LOCAL_TIME = Path("/etc/localtime")
_REGIONS = "/zoneinfo/"
_LOADED = "SPARK_ENV_LOADED"
# Its output goes to stderr. At the end bash prints all variables, exported or not, as in Spark's scripts.
_SOURCE = 'exec 3>&1 1>&2; set -a; . "$1"; set +a; env -0 >&3'
_SECONDS = 30
# The shell's own variables, and those that decided which file is read.
_NOT_TAKEN = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "SPARK_HOME", "SPARK_CONF_DIR"})


@dataclass(frozen=True, slots=True)
class SparkHome:
    """`home` has the jars; `configuration` is the directory for configuration files, which may not exist."""

    home: Path
    configuration: Path

    @property
    def jars(self) -> list[Path]:
        """In the order of the class path.

        Java looks for each class in one jar after another. With the jars that have the most in front, a start
        and the first queries take a tenth less CPU.
        """
        jars = sorted((self.home / "jars").glob("*.jar"))
        return sorted(jars, key=lambda jar: not jar.name.startswith(_MOST_CLASSES))

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
    own = own_home()
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


def load_spark_env(spark: SparkHome, environment: MutableMapping[str, str] = os.environ) -> None:
    """Add the variables that spark-env.sh sets to the environment, once. Raises `Unavailable` if it fails.

    Bash reads it, first of all, as in Spark's own scripts.
    """
    path = spark.configuration / "spark-env.sh"
    if environment.get(_LOADED) or not path.is_file():
        return
    given = {
        **environment,
        "SPARK_HOME": str(spark.home),
        "SPARK_CONF_DIR": str(spark.configuration),
        _LOADED: "1",
    }
    try:
        run = subprocess.run(
            ["bash", "-c", _SOURCE, "bash", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=given,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(path, f"did not end in {_SECONDS} seconds") from error
    except subprocess.CalledProcessError as error:
        raise _failed(path, f"ended with exit code {error.returncode}") from error
    except OSError as error:
        raise _failed(path, f"can't be run by bash ({error.strerror})") from error
    pairs = (os.fsdecode(each).partition("=") for each in run.stdout.split(b"\0") if each)
    environment.update({name: value for name, _, value in pairs if name not in _NOT_TAKEN})


def _failed(path: os.PathLike[str], why: str) -> Unavailable:
    return Unavailable(
        f"{path} {why}", "Correct it, or let SPARK_CONF_DIR name another directory. The log says more."
    )


def start_zone(settings: Settings, environment: Mapping[str, str] = os.environ) -> str | None:
    """A session's initial time zone; None if it can't be known here, as with a Spark reached by Connect."""
    try:
        conf = {**find_spark(environment).defaults(), **settings.spark_conf}
    except Unavailable:
        return None
    master = settings.spark_master or conf.get("spark.master", "local")
    java = [value for name, value in conf.items() if name.endswith("extraJavaOptions")]
    java += [environment.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")]
    if master.startswith("sc://") or any("user.timezone" in options for options in java):
        return None
    name = conf.get(_ZONE) or environment.get("TZ") or _of_the_machine()
    try:
        zone_of(name)
    except ValueError:
        return None
    return name


def _of_the_machine() -> str:
    """The machine's zone, found like Java does; empty if it has no name."""
    return str(_LOCAL_TIME.resolve()).rpartition(_REGIONS)[2]


def own_home() -> Path | None:
    """The home of PySpark's Spark; None if PySpark is not installed."""
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
