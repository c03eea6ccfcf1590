"""What was written down comes to tables, also while a run is still under way."""

import json
from pathlib import Path

from lakehouse_tests.timings.report import Timings, Usage, report

PHASES = [
    {"name": "lakehouse_tests/cdc/test_a.py::test_1", "phase": "setup", "start": 10.0, "end": 11.0},
    {"name": "lakehouse_tests/cdc/test_a.py::test_1", "phase": "call", "start": 11.0, "end": 14.0},
    {"name": "lakehouse_tests/kafka/test_b.py::test_2", "phase": "call", "start": 14.0, "end": 15.0},
]


def test_cpu_between_two_looks_is_shared_out() -> None:
    usage = Usage([0.0, 10.0], [{"7": 0.0}, {"7": 20.0, "8": 1.0}])
    assert usage.between(7, 2.0, 4.0) == 4.0
    assert usage.between(7, 10.0, 99.0) == 0.0, "after the last look nothing is known"
    assert usage.whole == 21.0


def test_phases_come_to_folders_modules_and_tests(tmp_path: Path) -> None:
    records = [{"kind": "phase", "pid": 7, **phase} for phase in PHASES]
    looks = [{"kind": "cpu", "time": time, "by_worker": {"7": 2 * (time - 10.0)}} for time in (10.0, 15.0)]
    servers = [{"kind": "process", "what": "Spark driver", "cpu": cpu} for cpu in (0.0, 3.0)]
    lines = [json.dumps(record) for record in (*records, *looks, *servers)]
    (tmp_path / "tests-7.jsonl").write_text("\n".join([*lines, '{"kind": "pha']), encoding="utf-8")
    tables = report(Timings.read(tmp_path))
    assert "| 2 | 5 | 5 | 10 | 2.00 |" in tables
    assert "| cdc | 4 | 8 | 1 |" in tables
    assert "| kafka/test_b.py | 1 | 2 | 1 |" in tables
    assert "| Spark driver | 1 | 3 |" in tables, "a fork on its way is no start"
