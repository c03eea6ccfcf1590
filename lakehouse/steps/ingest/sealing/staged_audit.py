"""The last look before publish: does each branch hold as many rows as its seal says?"""

from collections.abc import Sequence

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Staged
from lakehouse.protocol.seals.history import ancestry, summary_of


class StagedRowsDiffer(LakehouseError):
    """What was committed to a branch is not what the workers counted."""


def require_staged(catalog: LakeCatalog, staged: Sequence[Staged], statement: KafkaStatement) -> None:
    """Compare the rows that the staged snapshots added with the sealed tallies.

    Raises:
        StagedRowsDiffer: they differ; nothing was published.
    """
    for item in staged:
        expected = sum(tally.count for tally in statement.tallies.get(item.base.name, {}).values())
        if expected == 0 and item.base.snapshot_id is not None:
            continue
        added = 0
        for snapshot in ancestry(catalog.load_table(item.base.identifier), item.head):
            if snapshot.snapshot_id == item.base.snapshot_id:
                break
            added += int(summary_of(snapshot).get("added-records", "0"))
        if added != expected:
            raise StagedRowsDiffer(
                f"{item.base.name}: branch {item.branch} received {added} rows, the workers wrote {expected}.",
                remedy="run the step again, and report this: it must not happen",
            )
