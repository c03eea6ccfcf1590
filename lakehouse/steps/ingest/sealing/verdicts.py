"""What the seal of each table says beside Kafka's part: broken rules, operations, changes of columns, schemas."""

from collections.abc import Mapping
from typing import Any

import msgspec

from lakehouse import seal_keys
from lakehouse.contracts.rules import compile_rules
from lakehouse.declarations import names_schema
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.routes.stopping import sealed_stops
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import remembered_ids


def verdicts(step: IngestStep, landed: WriteResult, bases: Mapping[str, Base]) -> dict[str, dict[str, str]]:
    """Table → what its seal says beside Kafka's part, so that a check can report it without reading a row.

    Key `quality.rules`: JSON, rule → severity and how many records broke it. What broke a blocking rule, or could not
    be decoded, is told by the quarantine's seal.

    Key `changes.operations`, in a stream of changes: JSON, changelog → operation → rows of this step.

    Key `dropped.rules`, where any did: JSON, declared rule → table → records that it has dropped.

    Key `evolution.changes`, where any were made: JSON, table → how its columns were changed before this step wrote.

    Key `evolution.stopped`, where a table takes no records: JSON, table → why, and a digest of its declaration.

    Keys `format.schemas` and `format.extra_fields`, where there are any: JSON, schema id or field → records. Key
    `format.known_schemas`: the ids of these records and of those before, for the next run to begin with.
    """
    by_table: dict[str, dict[str, dict[str, str | int]]] = {
        step.stream.quarantine_table: {
            reason: {"severity": "error", "broken": times} for reason, times in landed.errors.items()
        }
    }
    for name in step.stream.tables:
        rules = compile_rules(step.declarations.tables[name].without_coordinates())
        by_table[name] = {f"{rule.column}: {rule.name}": {"severity": "error", "broken": 0} for rule in rules.blocking}
        for rule, times in landed.warnings.get(name, {}).items():
            by_table[name][rule] = {"severity": "warning", "broken": times}
    known = remembered_ids(bases, landed.schemas) if names_schema(step.stream.format) else []
    shared: dict[str, Any] = {
        **({seal_keys.CHANGES_OPERATIONS: landed.operations} if step.stream.changes else {}),
        **({seal_keys.DROPPED_RULES: landed.dropped} if landed.dropped else {}),
        **({seal_keys.EVOLUTION_CHANGES: step.evolved} if step.evolved else {}),
        **({seal_keys.EVOLUTION_STOPPED: sealed_stops(step.declarations, step.stopped)} if step.stopped else {}),
        **({seal_keys.FORMAT_SCHEMAS: landed.schemas} if landed.schemas else {}),
        **({seal_keys.FORMAT_KNOWN_SCHEMAS: known} if known else {}),
        **({seal_keys.FORMAT_EXTRA_FIELDS: landed.extra} if landed.extra else {}),
    }
    keys = {key: msgspec.json.encode(value, order="sorted").decode() for key, value in shared.items()}
    return {
        name: {seal_keys.QUALITY_RULES: msgspec.json.encode(rules).decode(), **keys} for name, rules in by_table.items()
    }
