"""The audit before publish: too many unacceptable records stop the step while nobody can see it."""

from lakehouse.errors import LakehouseError
from lakehouse.ingest.report import Landed
from lakehouse.tables import Stream


class TooMuchQuarantined(LakehouseError):
    """More records were unacceptable than the stream's declaration allows."""


def require_acceptable(stream: Stream, landed: Landed, branch: str) -> None:
    """Refuse to publish when the share of quarantined records is above the declared one.

    Tombstones are kept in quarantine as well, but a record without a value is not a broken one and does not count here.

    Args:
        stream: with its declared share.
        landed: what the workers counted.
        branch: where the quarantined records can be looked at, until housekeeping removes it.

    Raises:
        TooMuchQuarantined: with the share and the most frequent reasons.
    """
    counts = landed.counts
    broken = counts.quarantined - counts.tombstones
    if counts.read == 0 or broken / counts.read <= stream.max_quarantine_share:
        return
    reasons = ", ".join(f"{reason}: {times}" for reason, times in sorted(landed.errors.items(), key=lambda e: -e[1]))
    raise TooMuchQuarantined(
        f"Stream {stream.name}: {broken} of {counts.read} records of topic {stream.topic} are not acceptable "
        f"({broken / counts.read:.2%}, allowed {stream.max_quarantine_share:.2%}; {reasons}); nothing was published.",
        remedy=f"look at them in branch {branch} of {stream.quarantine_table}, correct the producer or the "
        "declaration, or raise max_quarantine_share; the same offsets are tried again",
    )
