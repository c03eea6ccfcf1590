"""What a check can report from a seal, without reading a row."""

from dataclasses import replace
from pathlib import Path

import msgspec

from lakehouse import seal_keys
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.sealing.verdicts import verdicts
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.ingest.in_process import step_without_engines
from lakehouse_tests.steps.ingest.workers.tasks import QUARANTINE, TABLE, work_on_things


def test_blocking_rules_warnings_and_errors_are_in_the_seal(tmp_path: Path) -> None:
    work = work_on_things(tmp_path)
    step = step_without_engines(open_catalog(sql_settings(tmp_path)), work.stream, work.declarations, work.attempt)
    landed = replace(WriteResult.nothing(), errors={"not_json": 2}, warnings={TABLE: {"id: even": 3}})
    keys = verdicts(replace(step, evolved={TABLE: ["column more added"]}), landed, work.bases)
    rules = {name: msgspec.json.decode(of_table[seal_keys.QUALITY_RULES]) for name, of_table in keys.items()}
    assert rules[QUARANTINE] == {"not_json": {"severity": "error", "broken": 2}}
    assert rules[TABLE].pop("id: even") == {"severity": "warning", "broken": 3}
    assert rules[TABLE]
    assert all(rule == {"severity": "error", "broken": 0} for rule in rules[TABLE].values())
    assert keys[TABLE][seal_keys.EVOLUTION_CHANGES] == '{"raw.things":["column more added"]}'
    assert seal_keys.FORMAT_SCHEMAS not in keys[TABLE]
