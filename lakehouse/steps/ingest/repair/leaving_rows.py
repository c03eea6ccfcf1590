"""Rows that leave a quarantine: deleted on the attempt's branch, and compared before anything is published."""

from collections.abc import Sequence

import numpy as np

from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.proofs.audit.coordinates import coordinates
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Staged, open_branch
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.repair.refused_records import RecordOffsets
from lakehouse.steps.ingest.sealing.staged_audit import StagedRowsDiffer


def delete_rows(
    catalog: LakeCatalog, quarantine: Base, attempt: Attempt, places: RecordOffsets, numbers: TopicNumbers
) -> None:
    """Delete the rows of some records on the attempt's branch.

    Args:
        catalog: where the table is.
        quarantine: the table as it was loaded.
        attempt: whose branch it is; it is opened here.
        places: of the records; there must be some.
        numbers: what their stream partitions mean.
    """
    open_branch(catalog, quarantine, attempt)
    commit_on_branch(
        catalog,
        quarantine,
        attempt.branch,
        lambda transaction: transaction.delete(
            places.where(numbers), snapshot_properties=attempt.marks, branch=attempt.branch
        ),
    )


def require_left(catalog: LakeCatalog, quarantine: Base, staged: Sequence[Staged], places: RecordOffsets) -> None:
    """What is on the branch is what was in the quarantine less these records, and nothing else.

    Raises:
        StagedRowsDiffer: other rows have left; nothing was published.
    """
    head = next(item.head for item in staged if item.base.name == quarantine.name)
    table = catalog.load_table(quarantine.identifier)
    before = coordinates(quarantine.table, list(quarantine.table.scan(snapshot_id=quarantine.snapshot_id).plan_files()))
    after = coordinates(table, list(table.scan(snapshot_id=head).plan_files()))
    for partition, offsets in before.items():
        stays = offsets[~np.isin(offsets, places.offsets.get(partition, np.array([], np.int64)))]
        if not np.array_equal(np.sort(stays), np.sort(after.get(partition, np.array([], np.int64)))):
            raise StagedRowsDiffer(
                f"{quarantine.name}: of partition {partition} other rows than the chosen ones left the branch.",
                remedy="run the command again, and report this: it must not happen",
            )
