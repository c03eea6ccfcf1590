"""What no single row can tell: is a key there twice, and does every value stand in the table that it refers to?"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import dagster as dg
from pyiceberg.table import Table

from lakehouse.contracts.rules.stored import check_key
from lakehouse.contracts.rules.stored.references import ReferenceReport, TableAt, check_references
from lakehouse.declarations import Stream
from lakehouse.declarations import Table as Declared
from lakehouse.declarations.policies.expectation import References
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun
from lakehouse.orchestration.resources.materialization import texts_shown
from lakehouse.proofs.lineage.vintage import check_vintage
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.quantities import quantity

KEY = "unique_key"
KEY_DESCRIPTION = (
    "No key is twice in the table; null counts as a value. One Spark job over the key's columns: of all rows, or where "
    "rows were only added since this check has passed, of new ones and of the files that can hold their keys."
)
_COLUMNS, _SNAPSHOT = "key", "snapshot id"
_IMPORTS = "`from datetime import timedelta`, `from lakehouse import Deduplicate, Maintenance`"
_LOOKED_BACK = 20


def key_judge() -> Judge:
    """The check of a table's key."""
    return Judge(KEY, KEY_DESCRIPTION, _key, blocking=True)


def reference_judges(table: Declared) -> list[Judge]:
    """A check for each reference that a table declares."""
    expected = [references for references in table.expects if isinstance(references, References)]
    return [_reference_judge(references, _name(references, expected)) for references in expected]


def _name(expected: References, among: Sequence[References]) -> str:
    """After the other table; where several refer to it, after the columns as well."""
    name = f"references_{expected.table.replace('.', '_')}"
    twins = [references for references in among if references.table == expected.table]
    return name if len(twins) == 1 else "_".join([name, *expected.columns])


def _reference_judge(expected: References, name: str) -> Judge:
    target = f"{expected.table} ({', '.join(expected.to or expected.columns)})"
    description = (
        f"Every value of {', '.join(expected.columns)} stands in {target}; rows without a value are not asked. One "
        f"Spark job over the distinct values; {expected.table} as this table has read it, or else both at one moment."
    )
    blocking = expected.severity == "blocking"
    return Judge(name, description, partial(_reference, expected, name), blocking=blocking)


def _key(check_run: TableCheckRun) -> dg.AssetCheckResult:
    table, snapshot_id = check_run.pinned.table, check_run.pinned.snapshot_id
    if snapshot_id is None:
        return _result(check_run, KEY, "The table holds no rows yet.", {_SNAPSHOT: "none"})
    report = check_key(check_run.table, table, snapshot_id, check_run.session, proven=_proven(check_run))
    shown = f": {'; '.join(report.examples)}" if report.examples else ""
    keys = "key is" if report.repeated == 1 else "keys are"
    repeated = f"{report.repeated:,} {keys} there more than once{shown}.{key_remedy(check_run)}"
    metadata = {
        _SNAPSHOT: str(report.snapshot_id),
        "rows": report.rows,
        "keys more than once": report.repeated,
        "rows too many": report.surplus,
        "rows since snapshot": str(report.since or "all"),
        _COLUMNS: ", ".join(check_run.table.key),
    }
    kept = f"Each of {report.rows:,} rows has a key of its own ({', '.join(check_run.table.key)})."
    return _result(check_run, KEY, kept if report.holds else repeated, metadata, passed=report.holds)


def key_remedy(check_run: TableCheckRun) -> str:
    """How repeated keys of a table that a stream fills go away again; nothing of a table that is made otherwise."""
    table, declared = check_run.table, check_run.declarations
    if table.name in declared.changelogs or not isinstance(declared.writer(table.name), Stream):
        return ""
    command = f"`lakehouse maintain {table.name} --only deduplicate --yes`"
    if table.maintenance.deduplicate is not None:
        return f" Remedy: {command}."
    policy = 'Deduplicate(order_by=("_kafka_offset desc",), closed_after=timedelta(0))'
    declaration = f"`maintenance=Maintenance(deduplicate={policy})`"
    return f" Remedy, where the newest message is right: declare {declaration} ({_IMPORTS}), then {command}."


def _proven(check_run: TableCheckRun) -> int | None:
    """The snapshot of which this check has last found that no key is twice, by the columns that are declared now."""
    history = check_run.instance.event_log_storage.get_asset_check_execution_history
    for record in history(dg.AssetCheckKey(check_run.key, KEY), limit=_LOOKED_BACK):
        evaluation = record.evaluation
        # While a check runs, its newest record only says that it is planned.
        if not isinstance(evaluation, dg.AssetCheckEvaluation) or not evaluation.passed:
            continue
        stored = {label: str(value.value) for label, value in evaluation.metadata.items()}
        if stored.get(_COLUMNS) == ", ".join(check_run.table.key) and stored.get(_SNAPSHOT, "").isdecimal():
            return int(stored[_SNAPSHOT])
    return None


def _reference(expected: References, name: str, check_run: TableCheckRun) -> dg.AssetCheckResult:
    table, target = _sides(expected, check_run)
    if table.snapshot_id is None:
        return _result(check_run, name, "The table holds no rows yet.", {"snapshot id": "none"})
    report = check_references(expected, table, target, check_run.session)
    metadata: dict[str, Any] = {
        "snapshot id": str(table.snapshot_id),
        f"snapshot id of {expected.table}": str(target.snapshot_id or "none"),
        "rows": report.rows,
        "rows that refer to nothing": report.dangling,
        "missing values": report.missing,
        "share": round(report.share, 6),
    }
    if report.examples:
        metadata["examples"] = texts_shown("missing", report.examples)
    warns = expected.severity == "warning"
    return _result(check_run, name, _describe(expected, report, target), metadata, passed=report.holds, warns=warns)


def _sides(expected: References, check_run: TableCheckRun) -> tuple[TableAt, TableAt]:
    """The other table as this one has read it, be it by way of others, or else both at one moment.

    A release takes it as it was read; a newer one may have lost keys, or have brought those that were missing. It may
    not exist before its first rows come.
    """
    declared, catalog = check_run.lake.declared(expected.table), check_run.lake.catalog
    exists = catalog.table_exists(declared.identifier)
    group = read_group(catalog, list(dict.fromkeys([check_run.table.name, *([declared.name] if exists else [])])))
    table = group[check_run.table.name]
    target = group.get(declared.name, Pinned(table.table, None))
    if (read := _read_of(target, check_run, table)) is not None:
        target = Pinned(target.table, read)
    return TableAt(check_run.table, table.table, table.snapshot_id), TableAt(declared, target.table, target.snapshot_id)


def _read_of(target: Pinned, check_run: TableCheckRun, pinned_table: Pinned) -> int | None:
    """The snapshot of another table that this one was computed from, if it is one, and still there."""
    if pinned_table.snapshot_id is None or target.snapshot_id is None:
        return None
    loaded = {table_name(pinned.table): pinned.table for pinned in (pinned_table, target)}

    def load(name: str) -> Table:
        return loaded.get(name) or check_run.lake.catalog.load_table(identifier_of(name))

    other = table_name(target.table)
    above = check_vintage(load, {check_run.table.name: pinned_table.snapshot_id}).readings[1:]
    read = {reading.snapshot_id for reading in above if reading.table == other}
    return (
        next((snapshot_id for snapshot_id in read if target.table.snapshot_by_id(snapshot_id)), None)
        if len(read) == 1
        else None
    )


def _describe(expected: References, report: ReferenceReport, target: TableAt) -> str:
    columns = ", ".join(expected.columns)
    if report.holds:
        return f"Every value of {columns} stands in {expected.table}, in all {report.rows:,} rows."
    empty = f" {expected.table} holds no rows yet." if target.snapshot_id is None else ""
    missing = quantity(report.missing, "value")
    dangling = f"{report.dangling:,} of {report.rows:,} rows have one of {missing} of {columns}"
    return f"{dangling} that no row of {expected.table} has.{empty}"


def _result(
    check_run: TableCheckRun,
    name: str,
    description: str,
    metadata: dict[str, Any],
    *,
    passed: bool = True,
    warns: bool = False,
) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=check_run.key,
        check_name=name,
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR,
        description=description,
        metadata=metadata,
    )
