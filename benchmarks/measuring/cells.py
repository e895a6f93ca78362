"""The cells of P8: five questions to three kinds of tables, and the report on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.measuring.costs import Costs, geometric_mean, middle

TABLES = ("append", "big_run", "equal_runs")
QUESTIONS = {
    "aggregate": "SELECT sum(amount) FROM {table}",
    "count": "SELECT count(*) FROM {table}",
    "point": "SELECT * FROM {table} WHERE id = {key}",
    "group": "SELECT region, sum(amount) FROM {table} GROUP BY region",
    "limit": "SELECT * FROM {table} LIMIT 10",
}
SCANS = ("aggregate", "group")
# The bare library's wall time as a share of the connector's (2.0.0), measured once with both. If the library
# is the peer, a ratio to it times this share is about the ratio to the connector.
_BY_CONNECTOR = {
    "append": (0.59, 0.29, 0.30, 0.45, 0.30),
    "big_run": (0.91, 0.76, 0.50, 0.61, 0.82),
    "equal_runs": (0.74, 0.62, 0.50, 0.72, 0.61),
}
LIBRARY_BY_CONNECTOR: Mapping[tuple[str, str], float] = {
    (table, question): factor
    for table, factors in _BY_CONNECTOR.items()
    for question, factor in zip(QUESTIONS, factors, strict=True)
}


def report(
    costs: Costs,
    tables: Iterable[str],
    questions: Sequence[str],
    ways: Sequence[str],
    peer: str,
    factors: Mapping[tuple[str, str], float] | None = None,
) -> None:
    """Print a line for each cell. Ratios are to `peer`; a ratio of wall times is times the cell's factor."""
    walls: defaultdict[str, list[float]] = defaultdict(list)
    cpus: defaultdict[str, list[float]] = defaultdict(list)
    told = f"{peer}'s, times its share of the connector's time" if factors else f"{peer}'s"
    print(f"\nmedians in ms; the ratio is to {told}")
    print(f"{'':24}" + "".join(f"{way:>30}" for way in ways))
    print(f"{'':24}" + f"{'wall  ratio    cpu  ratio':>30}" * len(ways))
    for table in tables:
        for question in questions:
            base = middle(costs[table, question, peer])
            factor = (factors or {}).get((table, question), 1.0)
            line = f"{table + ' ' + question:24}"
            for way in ways:
                if not costs.get((table, question, way)):
                    line += f"{'-':>30}"
                    continue
                cost = middle(costs[table, question, way])
                walls[way].append(cost.wall / base.wall * factor)
                cpus[way].append(max(cost.cpu, 1) / max(base.cpu, 1))
                line += f"{cost.wall:11.0f}{walls[way][-1]:7.2f}{cost.cpu:6.0f}{cpus[way][-1]:6.2f}"
            print(line)
    print(f"{'geometric mean':24}" + "".join(_means(walls[way], cpus[way]) for way in ways))
    over = "".join(f"{sum(ratio > 1 for ratio in walls[way]):18}" + " " * 12 for way in ways)
    print(f"{'cells above 1.0':24}{over}")


def _means(walls: Sequence[float], cpus: Sequence[float]) -> str:
    if not walls:
        return f"{'-':>30}"
    return f"{geometric_mean(walls):18.2f}{geometric_mean(cpus):12.2f}"


def report_beyond(
    costs: Costs, tables: Iterable[str], questions: Sequence[str], ways: Sequence[str], peer: str
) -> None:
    """P8b: our CPU divided by the peer's for scans; for questions that few rows answer, the difference."""
    print(f"\nCPU beside {peer}: for scans the ratio, for the others the ms beyond it")
    print(f"{'':24}{peer + ' ms':>14}" + "".join(f"{way:>14}" for way in ways))
    for table in tables:
        for question in questions:
            base = middle(costs[table, question, peer]).cpu
            line = f"{table + ' ' + question:24}{base:14.0f}"
            for way in ways:
                cpu = middle(costs[table, question, way]).cpu
                line += f"{cpu / max(base, 1):14.2f}" if question in SCANS else f"{cpu - base:11.0f} ms"
            print(line)
