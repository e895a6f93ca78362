"""Jars that Spark's wheel lacks: their lists, where they are on this machine, and how they are fetched.

They are in the cache directory, or in this environment of Python (`make setup`), and their checksums are
checked by each process that uses them, and again if they change. Maven fetches them if it is installed, else
the Ivy that Spark contains, each with the repositories of its own configuration: none is named here.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from typing import NamedTuple, Protocol

from paimark.core.config import cache_directory
from paimark.core.errors import Unavailable

# Spark's settings for its own resolver; we obey them, too.
IVY_SETTINGS, REPOSITORIES = "spark.jars.ivySettings", "spark.jars.repositories"
_LONGEST = 300
_SAYS_WHY = re.compile(r"\[ERROR\]|#\S+;\S+: |Exception: ")
_MAVEN = 'xmlns:m="http://ant.apache.org/ivy/maven"'
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def directory_of(jars: JarSet) -> Path:
    """The directory of a set in the cache, which may not exist."""
    return cache_directory() / "jars" / _name(jars)


def _installed(jars: JarSet) -> Path:
    """The same in the environment, where a process with another home finds it too."""
    return Path(sys.prefix) / "share/paimark/jars" / _name(jars)


def _name(jars: JarSet) -> str:
    return f"{jars.name}-{jars.product.lower()}-{jars.version}"


def place_of(jars: JarSet) -> Path:
    """Where a set is, else where it would be fetched to."""
    cached = directory_of(jars)
    return cached if cached.is_dir() or not is_installed(jars) else _installed(jars)


def is_installed(jars: JarSet) -> bool:
    return all((_installed(jars) / jar.name).is_file() for jar in jars.jars)


def install(jars: JarSet) -> None:
    """Put a set that the cache has into the environment, as links or copies."""
    to = _installed(jars)
    to.mkdir(parents=True, exist_ok=True)
    for jar in jars.jars:
        own = to / jar.name
        own.unlink(missing_ok=True)
        with suppress(OSError):
            os.link(directory_of(jars) / jar.name, own)
        if not own.exists():
            shutil.copy(directory_of(jars) / jar.name, own)


def cached_jars(jars: JarSet) -> list[Path]:
    """The checked jars of a set; empty if it was not fetched. Raises `Unavailable`, which names a bad one."""
    directory = place_of(jars)
    if not directory.is_dir():
        return []
    require_ours(directory)
    for jar in jars.jars:
        require_checksum(directory / jar.name, jar, f"Run `paimark jars fetch {jars.name}` again.")
    return [directory / jar.name for jar in jars.jars]


def require_ours(directory: Path) -> None:
    """Raises `Unavailable` for a directory that others can write to: they could make us run their classes."""
    status = directory.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise Unavailable(
            f"{directory} can be written to by others, so its jars are not used",
            f"Remove it, or make it yours alone: chmod go-w {directory}",
        )


def require_checksum(path: Path, jar: Jar, hint: str) -> None:
    """Raises `Unavailable` for a jar that is missing, or has another checksum than in the list."""
    try:
        status = path.stat()
        identity = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        digest = _digest(path, identity)
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error.strerror}", hint) from error
    if digest != jar.sha256:
        raise Unavailable(
            f"{path.name} is not the jar that it should be: its SHA-256 is {digest}, not {jar.sha256}", hint
        )


@lru_cache(maxsize=64)
def _digest(path: Path, identity: tuple[int, ...]) -> str:
    """The SHA-256 of a file in hex; it is read again only if it is another one by its identity."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_HEAD = re.compile(r"# for (\S+) (\S+): (.+)")


class Jar(NamedTuple):
    """`place` is `group:artifact:version` or `group:artifact:version:classifier`, as in repositories.

    `sha256` is the checksum of the jar, in hex.
    """

    place: str
    sha256: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return "-".join(self.place.split(":")[1:]) + ".jar"

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Group, artifact, version and classifier; the latter is empty for none."""
        group, artifact, version, classifier = f"{self.place}:".split(":")[:4]
        return group, artifact, version, classifier


class JarSet(NamedTuple):
    """The jars fit that version of a `product`, such as Hadoop. The first jar of a store's is its client."""

    name: str
    product: str
    version: str
    purpose: str
    jars: tuple[Jar, ...]

    @property
    def label(self) -> str:
        """`Hadoop 3.4.2`."""
        return f"{self.product} {self.version}"


@cache
def jar_sets() -> dict[str, JarSet]:
    """All sets, by name."""
    found = (each for each in (resources(__package__) / "checksums").iterdir() if each.name.endswith(".txt"))
    sets = [read_jar_set(each.name.removesuffix(".txt"), each.read_text(encoding="utf-8")) for each in found]
    return {each.name: each for each in sorted(sets)}


def read_jar_set(name: str, text: str) -> JarSet:
    """The set of a file as in `checksums/`."""
    head, *lines = text.splitlines()
    match = _HEAD.fullmatch(head)
    assert match is not None, head
    return JarSet(name, match[1], match[2], match[3], tuple(Jar(*line.split()) for line in lines))


class OwnSpark(Protocol):
    """The Spark that the jars are for, found by `paimark.core.spark.launch.home`."""

    @property
    def hadoop(self) -> str: ...

    @property
    def jars(self) -> Sequence[Path]: ...


def fetch(jars: JarSet, spark: OwnSpark, settings: Mapping[str, str], find_java: Callable[[], Path]) -> Path:
    """Fetch the jars of a set unless they are complete; return their directory.

    `settings` are the user's for Spark; `find_java` is called if there is no Maven. Raises `Unavailable` if
    the jars can't be fetched or stored, or if a checksum differs: then nothing is kept.
    """
    require_fitting(jars, spark)
    directory = directory_of(jars)
    if _is_whole(jars):
        return directory
    try:
        _fetch(jars, spark, settings, find_java, directory)
    except OSError as error:
        raise Unavailable(
            f"The jars can't be kept in {directory}: {error.strerror or error}",
            "Let XDG_CACHE_HOME name a directory that can be written, with some space.",
        ) from error
    return directory


def _fetch(
    jars: JarSet,
    spark: OwnSpark,
    settings: Mapping[str, str],
    find_java: Callable[[], Path],
    directory: Path,
) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        new = Path(scratch) / "jars"
        new.mkdir(mode=0o700)
        maven = shutil.which("mvn")
        if maven and not (settings.get(IVY_SETTINGS) or settings.get(REPOSITORIES)):
            _by_maven(maven, jars, new)
        else:
            _by_ivy(jars, new, spark, settings, find_java())
        for jar in jars.jars:
            require_checksum(
                new / jar.name, jar, "Nothing was kept. Is the repository the one that you mean?"
            )
        shutil.rmtree(directory, ignore_errors=True)
        new.rename(directory)


def require_fitting(jars: JarSet, spark: OwnSpark) -> None:
    """Raises `Unavailable` for jars of another Hadoop than this Spark's."""
    theirs = spark.hadoop
    if jars.product == "Hadoop" and theirs != jars.version:
        artifact = ":".join(jars.jars[0].parts[:2])
        raise Unavailable(
            f"The jars for {jars.name} are listed for {jars.label}, and this is {theirs or 'none'}",
            f"Give Spark their names: --spark-conf spark.jars.packages={artifact}:{theirs}",
        )


def _is_whole(jars: JarSet) -> bool:
    try:
        return bool(cached_jars(jars))
    except Unavailable:
        return False


def _by_maven(maven: str, jars: JarSet, into: Path) -> None:
    pom = into.parent / "pom.xml"
    wanted = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{classifier and f'<classifier>{classifier}</classifier>'}"
        f"{_ALONE}</dependency>"
        for group, artifact, version, classifier in (jar.parts for jar in jars.jars)
    )
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>paimark</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><dependencies>{wanted}</dependencies></project>"
    )
    words = ["dependency:copy-dependencies", f"-DoutputDirectory={into}", f"-f{pom}"]
    _run("Maven", jars, [maven, "-q", "-B", *words])


def _by_ivy(jars: JarSet, into: Path, spark: OwnSpark, settings: Mapping[str, str], java: Path) -> None:
    scratch = into.parent
    wanted = "".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}" transitive="false" conf="*->default">'
        f"{classifier and _classified(artifact, classifier)}</dependency>"
        for group, artifact, version, classifier in (jar.parts for jar in jars.jars)
    )
    (scratch / "ivy.xml").write_text(
        f'<ivy-module version="2.0" {_MAVEN}><info organisation="paimark" module="jars"/>'
        f"<dependencies>{wanted}</dependencies></ivy-module>"
    )
    given = settings.get(IVY_SETTINGS)
    if given and not Path(given).is_file():
        raise Unavailable(f"There is no file {given}, which {IVY_SETTINGS} names")
    if not given:
        given = str(scratch / "settings.xml")
        Path(given).write_text(_ivy_settings(settings.get(REPOSITORIES, "").split(",")))
    ivy = [jar for jar in spark.jars if jar.name.startswith("ivy-")]
    class_path = os.pathsep.join(map(str, ivy))
    words = ["-settings", given, "-cache", str(scratch / "ivy"), "-ivy", str(scratch / "ivy.xml"), "-warn"]
    target = f"{into}/[artifact]-[revision](-[classifier]).[ext]"
    _run("Ivy", jars, [str(java), "-cp", class_path, "org.apache.ivy.Main", *words, "-retrieve", target])


def _classified(artifact: str, classifier: str) -> str:
    return f'<artifact name="{artifact}" type="jar" ext="jar" m:classifier="{classifier}"/>'


def _ivy_settings(repositories: Sequence[str]) -> str:
    """The user's repositories first, as in Spark, then Ivy's default."""
    named = "".join(
        f'<ibiblio name="repository-{number}" m2compatible="true" root="{escape(root.strip())}"/>'
        for number, root in enumerate(repositories)
        if root.strip()
    )
    return (
        '<ivysettings><settings defaultResolver="all"/>'
        '<include url="${ivy.default.settings.dir}/ivysettings-public.xml"/>'
        f'<resolvers><chain name="all" returnFirst="true">{named}<resolver ref="public"/></chain></resolvers>'
        "</ivysettings>"
    )


def _run(name: str, jars: JarSet, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{name} does not run: {error}") from error
    if done.returncode:
        told = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        worst = next(filter(_SAYS_WHY.search, told), (told or [""])[-1]).strip(" :\t")
        raise Unavailable(
            f"{name} could not bring the jars for {jars.name}: {worst[:_LONGEST]}",
            "Is there a network, and does it know your repository? Without one: copy the directory "
            f"{directory_of(jars)} from a machine that has it.",
        )
