"""All reads work while a branch is half deleted, and none takes a needed file for an orphan."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.space.space import space
from paimark.core.table.layout import BARRIER
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.table.timeline.lane_data import read_lane_data
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, context_on
from tests.faults.takeovers import Case, LaneData
from tests.faults.test_replace_main import CASES

GOING = [each for each in CASES if each.name in ("delete a branch", "retire a branch")]


@pytest.mark.parametrize("case", GOING, ids=lambda case: case.name)
def test_everything_reads_a_branch_that_goes(
    case: Case, warehouse_template: Path, tmp_path: Path, is_long: bool
) -> None:
    scene = LaneData(case, warehouse_template, tmp_path)
    context = context_on(tmp_path / "warehouse")
    files = context.files
    for when in scene.killed(1 if is_long else 8):
        report = verify(context, ORDERS, older_than=0)
        needing = {each for problem in report.problems for each in problem.needed_by}
        assert all(each.endswith(" of fix") for each in needing), when
        assert not any(each.path.endswith(BARRIER) for each in (*report.orphans, *report.young)), when
        assert space(context, ORDERS).rows, when
        assert read_lane_data(files, ORDERS, main_root(files, ORDERS), []).lanes, when
        assert list(doctor._table(GlobalOptions(warehouse=files.uri), "shop.orders")), when
        for root in all_roots(files, ORDERS):
            for name, table in SYSTEM_TABLES.items():
                # The data files of the branch may be deleted already.
                if name != "files" or root.branch is None:
                    list(table.read(files, root))
