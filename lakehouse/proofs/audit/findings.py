"""What an audit says: for each range what decided it, and for each broken promise where."""

from collections.abc import Sequence
from dataclasses import Field, asdict, dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from lakehouse.engines.kafka.loss_ledger import AcceptedLoss
from lakehouse.proofs.audit.absence import Absence
from lakehouse.protocol.damage.damage import Damage

DecidedBy = Literal["manifests", "scan", "manifests and scan", "empty"]


@dataclass(frozen=True)
class Finding:
    """A broken promise.

    Args:
        kind: short and stable, for machines: `gap`, `overlap`, `balance`, `seal_edited`, `chain_broken`,
            `unsealed_commit`, `duplicate_file`, `missing_file`, `unreadable_file`, `misdescribed_file`, `rows_differ`,
            `rolled_back`, `no_seal`, `no_main`, `no_coordinates`, `table_gone`.
        offsets: the offsets in question, for a person: `[100, 200)` or `154, 155`.
    """

    kind: str
    message: str
    table: str = ""
    partition: int | None = None
    offsets: str = ""

    @classmethod
    def of(cls, damage: Damage) -> "Finding":
        """A file that cannot be read, as a broken promise."""
        return cls(damage.kind, damage.message, damage.table)


class _WithFindings(Protocol):
    """A dataclass with findings."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def findings(self) -> Sequence[Finding]: ...


class FindingsDecide:
    """What all proofs share that are dataclasses with `findings`: whether they hold, and how they are printed."""

    @property
    def holds(self: _WithFindings) -> bool:
        """Whether no promise is known to be broken."""
        return not self.findings

    def as_json(self: _WithFindings) -> dict[str, Any]:
        """For `--json`."""
        return {**asdict(self), "holds": not self.findings}


@dataclass(frozen=True)
class RangeProof:
    """One partition of one table: rows and tallies agree, and what showed it."""

    table: str
    partition: int
    first: int | None
    end: int
    rows: int
    decided_by: DecidedBy


@dataclass(frozen=True)
class StreamProof(FindingsDecide):
    """The exactly-once proof of one stream.

    Args:
        position: partition → first offset that is not read yet.
        read: records since the beginning, by the last seal.
        removed: table → rows that deduplication or retirement has removed since the beginning; `read` counts them.
        dropped: declared rule (`duplicate`, `filtered`) → records that it has dropped since the beginning.
        lost: offsets that were given up, of those that the position has passed.
        losses: the loss ledger: what was given up, also ahead of the position, by which run and why. What was given up
            before there was a ledger is in `lost` alone.
        invisible: offsets without a record (transaction markers, compaction).
        invisible_because: why these can be, by the seals that are left; what no seal explains, no proof can tell from
            lost records.
        proven_from: run id and time of the oldest seal that was still there; totals vouch for what lies before. Where
            a person adopted rows, also by which run: of those it is only proven that they are the ones adopted.
        absent: what was read while one of the tables was out of the stream, by the seals that are left.
        snapshots: table → snapshot id that was judged.
        missing: declared tables that nobody has made yet.
        errors: what kept parts of the proof from being carried out; what the other parts found is in `findings`.
    """

    stream: str
    findings: tuple[Finding, ...] = ()
    ranges: tuple[RangeProof, ...] = ()
    position: dict[int, int] = field(default_factory=dict[int, int])
    read: int = 0
    removed: dict[str, int] = field(default_factory=dict[str, int])
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    lost: int = 0
    losses: tuple[AcceptedLoss, ...] = ()
    invisible: int = 0
    invisible_because: str = ""
    proven_from: str = ""
    seals: int = 0
    absent: tuple[Absence, ...] = ()
    snapshots: dict[str, int] = field(default_factory=dict[str, int])
    missing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    seconds: float = 0.0
