"""When sensors look, and what stands where in Dagster."""

from pydantic import Field

from lakehouse.settings.models.section import Section


class AutomationSettings(Section):
    """When sensors look, and which of them run without being switched on in Dagster's UI.

    Attributes:
        start: whether sensors run by themselves; in a branch deployment of Dagster+ none does.
        start_maintenance: whether the sensor `upkeep` does so, too. It deletes what policies let go, so it does not,
            but in `lakehouse dev` where nothing is said here.
        every_seconds: how often sensors of streams and mirrors look.
        patience_seconds: how old an unread record may be before a run is started for few of them.
        enough_records: so many unread records start a run, however young they are.
    """

    start: bool = True
    start_maintenance: bool = False
    every_seconds: int = Field(default=5, ge=1)
    patience_seconds: float = Field(default=5, ge=0)
    enough_records: int = Field(default=10_000, gt=0)


class DagsterSettings(Section):
    """What stands where in Dagster, and what it keeps where its home lies in the state folder.

    Attributes:
        asset_key_prefix: what stands before the names of tables in asset keys, with slashes: `corp/lake` makes
            `raw.flights` the asset `corp/lake/raw/flights`. To Dagster it is another asset then, without the history.
        maintenance_assets: whether Dagster shows an asset `maintenance/<table>` for each table, with its checks.
            Without them nothing is maintained by itself; `lakehouse maintain` does it all the same.
        keep_runs_days: runs that ended longer ago are deleted with their events; their commits stay in the audit log.
    """

    asset_key_prefix: str = Field(default="", pattern=r"^([A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*)?$")
    maintenance_assets: bool = True
    keep_runs_days: int = Field(default=7, ge=1)
