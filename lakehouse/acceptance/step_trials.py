"""Trials of the steps on Kafka, Spark, catalog and store together, each proven from metadata afterwards."""

from functools import partial

from lakehouse.acceptance.messages import changes, customers, orders, totals
from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import require
from lakehouse.engines.kafka import send
from lakehouse.proofs.audit import StreamProof, audit_stream
from lakehouse.proofs.lineage.audit import audit_derived
from lakehouse.quantities import quantity
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.cdc.verify.audit import MirrorProof, audit_mirror
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.derived.plan import DeriveStep
from lakehouse.steps.derived.step import derive
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.step import ingest
from lakehouse.steps.maintenance.verify.foreign_rewrites import find_changed_rows
from lakehouse.steps.release.audit import ReleaseProof, audit_release
from lakehouse.steps.release.reading import open_release
from lakehouse.steps.release.release_step import ReleaseStep
from lakehouse.steps.release.step import release

_METADATA_TABLES = ("snapshots", "history", "files", "manifests", "refs", "partitions")
_PIN_BEGUN_MS = 1_000_000_000_000


def exactly_once(scratch: Scratch) -> str:
    """Two ingests of a topic, and one that finds nothing: each record is in the table once."""
    half = scratch.records // 2
    for first, count in ((0, half), (half, scratch.records - half)):
        send(scratch.settings.kafka, scratch.orders_topic, orders(first, count))
        _ingest(scratch, "orders")
    require(_ingest(scratch, "orders") == 0, "an ingest of nothing new has published")
    table = scratch.catalog.load_table(scratch.name("orders"))
    numbers = sorted(table.scan(selected_fields=("order_id",)).to_arrow()["order_id"].to_pylist())
    require(
        numbers == list(range(scratch.records)), f"{scratch.records} orders were sent, and {len(numbers)} are there"
    )
    require_proven(scratch, "orders")
    return (
        f"{quantity(scratch.records, 'record')} of {scratch.orders_topic}, each once, proven from metadata and by scan"
    )


def mirrored(scratch: Scratch) -> str:
    """A changelog, and the mirror that MERGE makes of it."""
    count = scratch.records // 3
    send(scratch.settings.kafka, scratch.changes_topic, changes(count))
    _ingest(scratch, "changes")
    require_proven(scratch, "changes")
    tables = scratch.declarations.mirrors[scratch.name("customers")]
    mirror(MirrorStep(tables, scratch.catalog, scratch.session, scratch.attempt("mirror"), inform=scratch.inform))
    rows = scratch.catalog.load_table(scratch.name("customers")).scan().to_arrow()
    stored = dict(zip(rows["customer_id"].to_pylist(), rows["name"].to_pylist(), strict=True))
    require(stored == customers(count), f"of {quantity(count, 'customer')}, {len(stored)} are in the mirror")
    proof = audit_mirror(scratch.catalog, tables, scratch.declarations, full=True)
    _require_proof(proof)
    return (
        f"{quantity(count, 'customer')} created, renamed, and every third deleted; the mirror was folded again: equal"
    )


def released(scratch: Scratch) -> str:
    """Two derived tables, one of the other, and their release at one vintage."""
    for short in ("totals", "largest"):
        derived = scratch.declarations.derived[scratch.name(short)]
        attempt = scratch.attempt(f"derive:{derived.name}")
        pin = Pin(attempt.run_id, _PIN_BEGUN_MS)
        derive(
            DeriveStep(
                derived, scratch.declarations, scratch.catalog, scratch.session, attempt, pin, inform=scratch.inform
            )
        )
        proof = audit_derived(scratch.catalog.load_table, derived)
        require(not proof.findings, _first(*(finding.message for finding in proof.findings)))
    declared = scratch.declarations.releases[scratch.namespace]
    members = frozenset(declared.members)
    release(
        ReleaseStep(
            declared,
            scratch.catalog,
            scratch.attempt(f"release:{declared.name}"),
            partial(find_changed_rows, int(scratch.settings.maintenance.in_process_proof)),
            dated=members,
        )
    )
    proof = audit_release(scratch.catalog, declared)
    _require_proof(proof)
    opened = open_release(scratch.catalog, declared.name)
    rows = opened.scan(scratch.name("totals")).to_arrow().to_pylist()
    stored = {row["shop"]: row["total"] for row in rows}
    require(stored == totals(scratch.records), f"the release holds {stored}")
    return f"{opened.id}: {quantity(len(members), 'table')} of one vintage and one runtime date"


def metadata_tables(scratch: Scratch) -> str:
    """What Spark says of a table's snapshots and files comes back to the driver."""
    with scratch.session() as spark:
        counts = {
            name: len(spark.table(f"lake.{scratch.name('orders')}.{name}").collect()) for name in _METADATA_TABLES
        }
    known = len(scratch.catalog.load_table(scratch.name("orders")).metadata.snapshots)
    require(counts["snapshots"] == known, f"Spark lists {counts['snapshots']} snapshots, and the catalog {known}")
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _ingest(scratch: Scratch, short: str) -> int:
    """Tables that were published."""
    stream = scratch.declarations.streams[f"{scratch.namespace}_{short}"]
    report = ingest(
        IngestStep(
            stream=stream,
            declarations=scratch.declarations,
            catalog=scratch.catalog,
            kafka=scratch.settings.kafka,
            limits=scratch.settings.ingest,
            session=scratch.session,
            attempt=scratch.attempt(f"ingest:{stream.name}"),
            inform=scratch.inform,
        )
    )
    return len(report.published.snapshots) if report.published else 0


def require_proven(scratch: Scratch, short: str) -> None:
    """The audit of a stream has to hold, by metadata and by a scan.

    Raises:
        PromiseBroken: it does not.
    """
    stream = scratch.declarations.streams[f"{scratch.namespace}_{short}"]
    audit = partial(audit_stream, scratch.catalog, stream.name, (*stream.tables, stream.quarantine_table))
    for proof in (audit(), audit(scan=True)):
        _require_proof(proof)


def _require_proof(proof: StreamProof | MirrorProof | ReleaseProof) -> None:
    require(proof.holds and not proof.errors, _first(*(f.message for f in proof.findings), *proof.errors))


def _first(*messages: str) -> str:
    return messages[0] if messages else "it could not be proven"
