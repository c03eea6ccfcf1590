"""Whether a mirror's next run is due; pure, so that every case can be tested without a catalog."""

from datetime import datetime, timedelta

from lakehouse.orchestration.automation.backoff import Failures
from lakehouse.orchestration.automation.stream_decision import RETRY_AFTER, Decision
from lakehouse.steps.cdc.status import MirrorStanding

# A run has to find the target still ahead of it: starting Spark and folding take their time as well.
SHARE = 0.25
# So many changes are worth a run, however young they are.
MANY = 100_000


def decide_mirror(
    standing: MirrorStanding, *, target_lag: timedelta, running: bool, failures: Failures, now: datetime
) -> Decision:
    """Decide whether to start a run.

    Args:
        standing: where the mirror stands.
        target_lag: how old the oldest change that is not in the mirror may be; zero where no change is too young.
        running: whether a run of this mirror is queued or under way.
        failures: of its newest runs.
        now: the present moment.
    """
    if running:
        return Decision(None, "a run of this mirror is under way", "")
    if not standing.lags:
        return Decision(
            None, "the changelog is empty" if standing.newest is None else "every change is in the mirror", ""
        )
    if wait := failures.reason_to_wait(now):
        return Decision(None, f"{_waiting(standing)}; {wait}", "")
    patience = target_lag * SHARE
    young = bool(patience) and standing.since is not None and now - standing.since < patience
    if young and standing.waiting < MANY and not (standing.to_begin or standing.doubt):
        return Decision(None, f"{_waiting(standing)}, none for longer than {patience.total_seconds():g} s", "")
    return Decision(_run_key(standing, failures.count, now), _waiting(standing), "")


def _run_key(standing: MirrorStanding, failures: int, now: datetime) -> str:
    """Name the run by what it folds onto what, so that Dagster starts it once.

    A pair of snapshots may come again (a failure, a rollback by hand), so tries are counted and time goes by in it.
    """
    bucket = int(now.timestamp() // RETRY_AFTER.total_seconds())
    return f"{standing.mirror}:{standing.snapshot_id or 0}:{standing.newest}:{failures}:{bucket}"


def _waiting(standing: MirrorStanding) -> str:
    if standing.doubt:
        return standing.doubt
    if standing.waiting:
        return f"{standing.waiting:,} changes wait"
    return "the mirror is to begin from its initial table" if standing.to_begin else "the position is to move on"
