"""The checks of a stream: one op, without Spark, that answers for all of its tables.

A check that cannot be answered (no broker, no catalog) raises: Dagster then shows it as not executed, which is not the
same as failed. What was answered before that stays answered.
"""

from collections.abc import Iterable, Iterator, Set

import dagster as dg
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Stream, ToNamed
from lakehouse.engines.kafka import KafkaRefused
from lakehouse.orchestration.checks.stream import contract, exactly_once, freshness, retention, stopped_tables
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.proofs.audit import audit_stream
from lakehouse.protocol.seals.partial_group import read_partial_group
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.ingest.refusals import IngestRefused


def check_specs(stream: Stream, names: DagsterNames = DEFAULT_NAMES) -> list[dg.AssetCheckSpec]:
    """Which checks a stream's tables have. The quarantine has no rules, and is as fresh as its siblings."""
    data = [names.key(name) for name in stream.tables]
    quarantine = names.key(stream.quarantine_table)
    return [
        *(_spec(exactly_once.NAME, key, exactly_once.DESCRIPTION) for key in (*data, quarantine)),
        *(_spec(contract.NAME, key, contract.DESCRIPTION) for key in data),
        *(_spec(freshness.NAME, key, freshness.DESCRIPTION) for key in data),
        *(_spec(retention.NAME, key, retention.DESCRIPTION) for key in data),
        _spec(stopped_tables.NAME, quarantine, stopped_tables.DESCRIPTION),
    ]


def stream_checks(stream: Stream, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetChecksDefinition:
    """Make the checks of one stream."""

    @dg.multi_asset_check(
        name=f"prove_{stream.name}",
        description=f"Proves what stream {stream.name} promises, from metadata.",
        specs=check_specs(stream, names),
        can_subset=True,
    )
    @names.resources
    def prove_stream(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.AssetCheckResult]:
        selected = context.selected_asset_check_keys
        whole = lake.declarations.streams.get(stream.name, stream)  # with the tables that records have named
        yield from _results(whole, lake, {name: _tables(selected, name, lake.names) for name in _NAMES})

    return prove_stream


_NAMES = (exactly_once.NAME, contract.NAME, freshness.NAME, retention.NAME, stopped_tables.NAME)


def _spec(name: str, key: dg.AssetKey, description: str) -> dg.AssetCheckSpec:
    # What cannot be shown to hold every record once is no ground to compute on, or to release.
    return dg.AssetCheckSpec(name, asset=key, description=description, blocking=name == exactly_once.NAME)


def _tables(selected: Set[dg.AssetCheckKey], name: str, names: DagsterNames) -> dict[str, dg.AssetKey]:
    """Table name → asset key of the selected checks of one name."""
    return {names.table(check.asset_key): check.asset_key for check in sorted(selected) if check.name == name}


def _results(stream: Stream, lake: Lake, wanted: dict[str, dict[str, dg.AssetKey]]) -> Iterator[dg.AssetCheckResult]:
    """Answer check by check: each question once for all tables, the one that needs the broker last."""
    for name, key in wanted[stopped_tables.NAME].items():
        quarantine = read_group(lake.catalog, [name])[name]
        yield stopped_tables.stopped_tables_result(quarantine, stream.name, key)
    if tables := wanted[exactly_once.NAME]:
        proof = audit_stream(lake.catalog, stream.name, (*stream.tables, stream.quarantine_table))
        if proof.missing and not proof.findings:  # of what is not there nobody can say whether it is right
            raise NoSuchTableError(" ".join(proof.errors))
        for name, key in tables.items():
            made = stream.route.made if isinstance(stream.route, ToNamed) and name == stream.route.like else ()
            yield exactly_once.exactly_once_result(proof, name, key, made)
    if tables := wanted[contract.NAME]:
        yield from _contract(stream, lake, tables)
    if tables := wanted[freshness.NAME]:
        yield from _freshness(stream, lake, tables.values())
    if tables := wanted[retention.NAME]:
        yield from _retention(stream, lake, tables.values())


def _contract(stream: Stream, lake: Lake, tables: dict[str, dg.AssetKey]) -> Iterator[dg.AssetCheckResult]:
    group = read_partial_group(lake.catalog, [*tables, stream.quarantine_table])
    if stream.quarantine_table not in group.tables:
        raise NoSuchTableError(" ".join(group.unloaded.values()))
    quarantine = group.tables[stream.quarantine_table]
    for name, key in tables.items():
        if name in group.tables:  # of one that is not there, the check of stopped tables tells
            yield contract.contract_result(group.tables[name], quarantine, name, key)


def _retention(stream: Stream, lake: Lake, keys: Iterable[dg.AssetKey]) -> Iterator[dg.AssetCheckResult]:
    try:
        status, ahead, kept = retention.look(lake, stream)
    except (IngestRefused, KafkaRefused) as error:
        yield from (retention.unknown_result(error, key) for key in keys)
    else:
        yield from (retention.retention_result(status, ahead, kept, key) for key in keys)


def _freshness(stream: Stream, lake: Lake, keys: Iterable[dg.AssetKey]) -> Iterator[dg.AssetCheckResult]:
    try:
        status, oldest = freshness.look(lake, stream)
    except IngestRefused as refusal:
        yield from (freshness.doubtful_result(refusal, key) for key in keys)
    else:
        yield from (freshness.freshness_result(status, oldest, stream.freshness, key, lake.names) for key in keys)
