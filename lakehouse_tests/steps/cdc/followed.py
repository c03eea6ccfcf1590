"""A changelog with a mirror and an incremental table that follows it: its runs are seals, its rows are left out."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Changelog, Derived, Table, apply, plan
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.leases.lease import Lease, release_lease
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.changelog_cleanup.retire import Retired, retire_changelog
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BEGAN, LOG, ROW, MirroredLake

DAY = timedelta(days=1)
COPIED = Derived(
    table=Table(
        name="mart.copied",
        schema=pandera.DataFrameSchema(
            {
                "id": pandera.Column(T.LongType(), nullable=True),
                "runtime_date": pandera.Column(T.DateType(), nullable=False),
            }
        ),
        description="Birds, as they came.",
        owner="tests",
        runtime_date_column="runtime_date",
    ),
    inputs={"birds": LOG},
    compute="SELECT key.id FROM birds",
    mode="incremental",
    follows="birds",
)


def followed_lake(folder: Path) -> MirroredLake:
    """With a retention of a day; nothing has come, and nobody has read."""
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=DAY)
    lake = MirroredLake(open_catalog(sql_settings(folder)), log=log)
    apply(plan(COPIED.table, lake.catalog), lake.catalog)
    return lake


def read_up_to(lake: MirroredLake, snapshot_id: int) -> None:
    """One run of the incremental table."""
    changelog, base = lake.load(LOG), read_bases(lake.catalog, [COPIED.name])[COPIED.name]
    attempt = Attempt(run_id=f"derive-{snapshot_id}", step=f"derive:{COPIED.name}", runtime_date="2026-01-01")
    previous = base.sealed.seal if base.sealed else None
    seal = Seal.of(attempt, "derive", statement={}, previous=previous, inputs={LOG: snapshot_id})
    lease = Lease(changelog.name(), str(changelog.metadata.table_uuid), COPIED.name, snapshot_id, None, "reads on here")
    publish(lake.catalog, [seal_branch(lake.catalog, base, attempt, seal)], leases=[lease])


def retire(
    lake: MirroredLake, after: timedelta = timedelta(days=9), followers: Sequence[Derived] = (COPIED,)
) -> Retired | None:
    """With the retention ending so long after the first change arrived; without followers, nor their lease."""
    if not followers:
        release_lease(lake.catalog, lake.log.table.identifier, COPIED.name)
    attempt, now = Attempt(run_id="retention", step="retire:birds"), BEGAN + DAY + after
    return retire_changelog(lake.catalog, lake.log, lake.stream, [lake.tables], attempt, followers=followers, now=now)
