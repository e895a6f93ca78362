"""`paimark doctor` on stores and their engines: races, several writers, what Spark lacks, what expires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.query.answering import open_engine
from paimark.core.config import Settings
from paimark.core.errors import Refused, Unavailable, UsageError
from paimark.core.figures import counted, some_of
from paimark.core.quoting import quoted, shell_line
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.protocol import Explained, Failed
from paimark.core.spark.stores.failures import (
    incomplete,
    named_files,
    named_packages,
    no_client,
    of_other_hadoop,
)
from paimark.core.spark.stores.jars import cached_jars, jar_sets, require_fitting
from paimark.core.spark.stores.settings import Store, store_of
from paimark.core.storage.conditions import ROUNDS, WRITERS
from paimark.core.storage.files import Files
from paimark.core.storage.open import keeps_from_stock, open_files
from paimark.core.table.catalog import databases, find_table, tables
from paimark.core.table.definition.retention import retention_off, retention_options
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.branches import branch_health
from paimark.core.table.lineage.forks import Side, Unheld, find_fork, unheld_fork
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.files import unseen_files
from paimark.core.table.rows import SnapshotRow

# The newest snapshots of a root that are examined to find its writers.
_NEWEST = 200
_LATE = (
    "A request to end a change that comes late, or twice, may end the next: change a table from one place."
)


class Verdict(NamedTuple):
    """`state` is ok, warning or broken."""

    state: str
    detail: str
    hint: str = ""


def settings_of(options: GlobalOptions) -> Settings | None:
    """None if there is no warehouse: the check of the warehouse reports it."""
    try:
        return options.settings()
    except UsageError:
        return None


def conditions(options: GlobalOptions) -> Iterator[Verdict]:
    """Race for scratch files in the warehouse; no verdict if its store needs no proof."""
    settings = settings_of(options)
    if settings is None or "://" not in settings.warehouse:
        return
    from paimark.core.storage.remote import RemoteFiles

    files = open_files(settings.warehouse, settings.options)
    if not isinstance(files, RemoteFiles) or not files.must_prove:
        return
    if settings.read_only:
        yield Verdict("ok", "not tried in read-only mode", "Without it doctor races for scratch files there.")
        return
    try:
        result = files.race(deletions=True)
        result.require(files.uri)
    except Refused as error:
        yield Verdict("broken", error.message, error.hint)
    except Unavailable as error:
        yield Verdict(
            "warning", f"Whether the store keeps conditional writes is unknown: {error.message}", error.hint
        )
    else:
        yield Verdict("ok", f"kept in {ROUNDS} races of {WRITERS} writers each: changes are safe")
        if result.weakness:
            yield Verdict("warning", f"Deletions are not safe from late requests: {result.weakness}", _LATE)


def writers_at_once(uri: str, root: Root, newest: Sequence[SnapshotRow]) -> Iterator[Verdict]:
    """A warning if several writers alternate in the newest commits of a root on an object store.

    There, stock writers overwrite each other's commits, unless their catalog takes a lock, and Paimark's.
    """
    if keeps_from_stock(uri):
        return
    users = [row.commit_user for row in newest[:_NEWEST]]
    if mixed := sorted(taking_turns(users)):
        yield Verdict(
            "warning",
            f"Several writers commit to it at once ({some_of(mixed)}), and on an object store one can "
            "overwrite another's commit",
            "Give all other writers one catalog that takes locks (lock.enabled). Paimark takes none: make "
            f"its changes while they rest. `paimark verify {root.table.word}` tells what was lost.",
        )


def taking_turns(users: Sequence[str]) -> set[str]:
    """Writers with others' commits between their own, and those others; `users` is in commit order.

    A writer that makes one commit and ends is no evidence that others worked at the same time.
    """
    first, last = dict[str, int](), dict[str, int]()
    for index, user in enumerate(users):
        first.setdefault(user, index)
        last[user] = index
    mixed = set()
    for user in first:
        between = {*users[first[user] : last[user]]} - {user}
        if between:
            mixed |= {user} | between
    return mixed


def spark_reads(options: GlobalOptions, table: str | None) -> Iterator[Verdict]:
    """Whether Spark itself can read the store: it is started only if the command line names its cluster."""
    if (settings := settings_of(options)) is not None:
        yield from on_paper(settings) if options.spark_master is None else one_file(settings, table)


def on_paper(settings: Settings) -> Iterator[Verdict]:
    """Check that the jars are there, without starting Spark. No verdict for a warehouse on the local disk."""
    store, spark = store_of(settings.warehouse), find_spark()
    hadoop = spark.hadoop
    if store.kind == "hdfs":
        yield Verdict("ok", f"Spark brings the client of HDFS, of Hadoop {hadoop}")
    elif store.kind in jar_sets():
        conf = {**spark.defaults(), **settings.spark_conf}
        yield _verdict_on_named(store, conf, hadoop) or _verdict_on_fetched(store, spark)
    elif store.kind != "file":
        yield Verdict("warning", *no_client(store, "", hadoop))


def one_file(settings: Settings, table: str | None) -> Iterator[Verdict]:
    """Start Spark and let it open a data file of `table`, or of any table."""
    if store_of(settings.warehouse).kind == "file":
        return
    files = open_files(settings.warehouse, settings.options)
    path = find_table(files, table) if table is not None else _with_rows(files)
    if path is None:
        yield Verdict("ok", "no table has rows yet that could be read")
        return
    with closing(open_engine(settings)) as engine:
        for event in engine.run(f"EXPLAIN SELECT * FROM {quoted(path.database)}.{quoted(path.name)}"):
            if isinstance(event, Explained):
                line = event.text.partition("\n")[0]
                yield Verdict("ok" if line.startswith("scan: native") else "warning", line)
            elif isinstance(event, Failed):
                raise event.error()


def _verdict_on_named(store: Store, conf: dict[str, str], hadoop: str) -> Verdict | None:
    """The verdict on jars that the user's settings name; None if the client is not among them."""
    client = jar_sets()[store.kind].jars[0].parts[1]
    files, packages = named_files(conf), named_packages(conf)
    for jar in (*files, *packages):
        if jar.startswith(f"{client}-"):
            why = of_other_hadoop(store, jar, hadoop) or (
                incomplete(store, files, hadoop) if jar in files else None
            )
            return Verdict("warning", *why) if why else Verdict("ok", f"{jar}, of your own settings")
    return None


def _verdict_on_fetched(store: Store, spark: SparkHome) -> Verdict:
    """The verdict on the jars that were fetched."""
    jar_set = jar_sets()[store.kind]
    try:
        require_fitting(jar_set, spark)
        if jars := cached_jars(jar_set):
            where = jars[0].parent
            return Verdict(
                "ok", f"{counted(len(jars), 'jar')} for {jar_set.name}, of {jar_set.label}, in {where}"
            )
    except Unavailable as error:
        return Verdict("warning", error.message, error.hint)
    return Verdict("warning", *no_client(store, "", spark.hadoop))


def _with_rows(files: Files) -> TablePath | None:
    """The first table that has a snapshot."""
    every = (table for database in databases(files) for table in tables(files, database))
    return next((each for each in every if Lineage(files, main_root(files, each)).latest()), None)


def cluster_needs(options: GlobalOptions) -> Iterator[Verdict]:
    """What executors must have, if a cluster is set."""
    if (settings := _with_cluster(options)) is not None and "://" not in settings.warehouse:
        needs = f"executors need {settings.warehouse} mounted at the same place"
        yield Verdict("ok", f"{settings.spark_master}: {needs}")


def cluster_has(options: GlobalOptions) -> Iterator[Verdict]:
    """The machines of executors, if the command line names the cluster. Raises `Unavailable`."""
    if (settings := _with_cluster(options)) is None:
        return
    master = settings.spark_master
    if options.spark_master is None:
        yield Verdict("ok", f"{master}: not looked at; `paimark doctor --spark-master {master}` does")
        return
    with closing(open_engine(settings)) as engine:
        seconds = engine.wait_ready()
        yield Verdict("ok", f"{master}: ready in {seconds:.0f} s")
        yield from (Verdict("ok", node) for node in engine.nodes)


def _with_cluster(options: GlobalOptions) -> Settings | None:
    from paimark.core.spark.launch.cluster import is_cluster

    settings = settings_of(options)
    return settings if settings and settings.spark_master and is_cluster(settings.spark_master) else None


def unseen_rows(files: Files, root: Root) -> Iterator[Verdict]:
    """A warning if there are such rows. It reads the manifests of tables that may have some."""
    lineage = Lineage(files, root)
    schema, newest = lineage.latest_schema(), lineage.latest()
    if schema is None or newest is None:
        return
    if count := sum(1 for _ in unseen_files(files, root.table, schema, newest)):
        branch = [] if root.branch is None else ["--branch", root.label]
        words = shell_line(["paimark", "compact", root.table.full_name, *branch])
        detail = f"No reader sees the rows of {counted(count, 'file')} before they are compacted"
        yield Verdict("warning", detail, f"Run: {words}, unless a compaction job does it")


def forks(files: Files, root: Root) -> Iterator[Verdict]:
    """Whether main's next stock expiry would delete a branch's fork; of main, whether none expires it.

    Raises `Corrupt` and `NotFound`.
    """
    main = main_root(files, root.table)
    if root == main:
        yield from _endless(files, root)
        return
    sides = Side(files, main), Side(files, root)
    if unheld := unheld_fork(*sides, find_fork(*sides)):
        yield Verdict("warning", unheld.danger("it"), _mend(root, unheld))


def _endless(files: Files, main: Root) -> Iterator[Verdict]:
    if branch_health(files, main) == "endless":
        words = ["paimark", "alter-branch-schema", main.table.full_name, "--unset", retention_options()]
        yield Verdict(
            "warning",
            f"Stock engines expire nothing of it: {retention_off()} came from a branch, as by a fast-forward",
            "First tag the snapshots that branches share with it, if a finding names them. Then run: "
            f"{shell_line(words)}",
        )


def _mend(root: Root, unheld: Unheld) -> str:
    if not unheld.in_main:
        return "Main has lost that snapshot, too: expire main with `paimark expire-snapshots` alone."
    name, number = unheld.tag_name, str(unheld.snapshot.id)
    words = shell_line([root.table.full_name, "--name", name, "--snapshot", number])
    return f"Run: paimark create-tag {words}"
