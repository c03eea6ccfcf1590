"""Verdicts that stand: a check that has passed on this very snapshot is not asked again by `lakehouse run`.

A snapshot never changes, so neither does what was found of its rows: as long as it is judged by the same code and the
same declarations, and its files are there as they were written. Whether they are is asked anew each time, and so is
every check that is quick, or that depends on more than the snapshots it names. `lakehouse audit` keeps nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import dagster as dg

# What `get_asset_check_execution_history` returns; Dagster has no public name for it.
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

import lakehouse
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.checks.mirror import fold
from lakehouse.orchestration.checks.profile.definition import distribution_judges
from lakehouse.orchestration.checks.rules.definition import rule_judges
from lakehouse.orchestration.resources import Lake
from lakehouse.proofs.audit.stored_files import stored_otherwise
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.settings import Settings

JUDGED_BY_TAG = "lakehouse/judged_by"
_SNAPSHOT = "snapshot id"
_ELSEWHERE = f"{_SNAPSHOT} of "
_LOOKED_BACK = 50  # runs that planned it and had nothing new; then it is asked again
# It compares with a table that its answer does not name.
_NOT_KEPT = "same_values_"


def judged_by(settings: Settings) -> str:
    """A digest of the code that judges and of the declarations that it judges by: the tag of a run."""
    digest = hashlib.sha256()
    for folder in (Path(lakehouse.__file__).parent, settings.conf, *settings.declarations):
        for file in sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".yaml", ".sql", ".avsc"}):
            known = file.stat()
            digest.update(f"{file}|{known.st_size}|{known.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def kept_verdicts(
    lake: Lake, instance: dg.DagsterInstance, checks: Iterable[dg.AssetCheckKey], digest: str
) -> dict[dg.AssetCheckKey, dg.AssetCheckEvaluation]:
    """Check → what it said, of those whose last word still holds.

    Args:
        lake: with the tables.
        instance: what was recorded of checks.
        checks: that would be asked.
        digest: see `judged_by`.
    """
    tables = {check: lake.names.table(check.asset_key) for check in checks}
    wanted = [check for check, table in tables.items() if check.name in set(_names(lake, table))]
    verdicts = dict(_passed(instance, wanted, digest))
    judged = {check: _judged(lake, tables[check], verdict) for check, verdict in verdicts.items()}
    named = sorted({name for snapshots in judged.values() for name in snapshots})
    existing = [name for name in named if lake.catalog.table_exists(identifier_of(name))]
    group = read_group(lake.catalog, existing) if existing else {}
    standing = [check for check, snapshots in judged.items() if _stands(snapshots, group)]
    whole = {name: _is_whole(group[name]) for name in {name for check in standing for name in judged[check]}}
    return {check: verdicts[check] for check in standing if all(whole[name] for name in judged[check])}


def _names(lake: Lake, table: str) -> Iterator[str]:
    """The checks of a table that read its rows, and whose answer depends on the snapshots that it names alone."""
    if table in lake.declarations.mirrors:
        yield fold.NAME
    if (declared := lake.declarations.tables.get(table)) is None:
        return
    for judge in (*rule_judges(declared, lake.declarations), *distribution_judges(declared, lake.declarations)):
        if not judge.name.startswith(_NOT_KEPT):
            yield judge.name


def _passed(
    instance: dg.DagsterInstance, checks: list[dg.AssetCheckKey], digest: str
) -> Iterator[tuple[dg.AssetCheckKey, dg.AssetCheckEvaluation]]:
    for check in checks:
        evaluation = _last_word(instance, check, digest)
        if evaluation is not None and evaluation.passed:
            yield check, evaluation


def _last_word(instance: dg.DagsterInstance, check: dg.AssetCheckKey, digest: str) -> dg.AssetCheckEvaluation | None:
    """The newest result of a check, by this judge; None where there is none, or it ended without one."""
    for record in instance.event_log_storage.get_asset_check_execution_history(check, limit=_LOOKED_BACK):
        run = instance.get_run_by_id(record.run_id)
        if record.status is AssetCheckExecutionRecordStatus.PLANNED:
            # Each run plans all checks, and leaves out those of tables that have nothing new: that says nothing.
            if run is None or run.status is dg.DagsterRunStatus.SUCCESS:
                continue
            return None
        evaluation = record.evaluation
        same_judge = run is not None and run.tags.get(JUDGED_BY_TAG) == digest
        return evaluation if isinstance(evaluation, dg.AssetCheckEvaluation) and same_judge else None
    return None


def _judged(lake: Lake, table: str, verdict: dg.AssetCheckEvaluation) -> dict[str, str]:
    """Table → the snapshot that was judged of it."""
    named = {label: str(value.value) for label, value in verdict.metadata.items()}
    judged = {table: named.get(_SNAPSHOT, "")}
    judged |= {label.removeprefix(_ELSEWHERE): value for label, value in named.items() if label.startswith(_ELSEWHERE)}
    if table in lake.declarations.mirrors:
        judged[lake.declarations.mirrors[table].changelog.name] = named.get(fold.CHANGELOG_SNAPSHOT, "")
    return judged


def _stands(judged: Mapping[str, str], group: Mapping[str, Pinned]) -> bool:
    return all(name in group and snapshot == str(group[name].snapshot_id) for name, snapshot in judged.items())


def _is_whole(pinned: Pinned) -> bool:
    """Whether storage has every file of a snapshot, in its size."""
    return pinned.snapshot_id is not None and not list(stored_otherwise(pinned.table, {pinned.snapshot_id: ""}))
