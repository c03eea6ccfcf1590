"""How change data is written into messages: Debezium, AWS DMS, or flat records with columns of any name.

Every format says where it finds operation, key, images and source position. An `epoch` is added in front of all
positions: raise it by one when the source starts counting anew (another cluster, a restored backup).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from lakehouse.declarations.columns.error import DeclarationError

Operation = Literal["insert", "update", "delete", "read", "truncate", "tombstone", "control"]
_OPERATIONS = ("insert", "update", "delete", "read", "truncate")
FLAT_OPERATIONS: Mapping[str, Operation] = {
    "c": "insert",
    "u": "update",
    "d": "delete",
    "r": "read",
    "t": "truncate",
    "I": "insert",
    "U": "update",
    "D": "delete",
}


@dataclass(frozen=True, kw_only=True)
class Debezium:
    """Debezium's JSON envelope, with or without its schema part; PostgreSQL, MySQL and MariaDB give positions.

    Where a message carries its schema, that decides how values are written; `decimals`, `timestamps` and `millis` are
    for messages without one, and give the unit of times that are kept as numbers.

    Attributes:
        epoch: goes in front of every position.
        decimals: `decimal.handling.mode` of the connector: `precise` (Base64), `string` or `double`.
        timestamps: unit of a timestamp without zone, by `time.precision.mode` and the column's precision; values with a
            zone come as text in any case.
        millis: columns that come in milliseconds all the same: by default the connector writes `timestamp(3)` and
            shorter in milliseconds, longer ones in microseconds, and a message without schema does not say which.
        unavailable: `unavailable.value.placeholder` of the connector.
        ignored: columns of the source that are left out on purpose.
    """

    epoch: int = 0
    decimals: Literal["precise", "string", "double"] = "precise"
    timestamps: Literal["millis", "micros", "nanos", "text"] = "micros"
    millis: tuple[str, ...] = ()
    unavailable: str = "__debezium_unavailable_value"
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _check_epoch(self.epoch)
        _check_choice("decimals", self.decimals, ("precise", "string", "double"))
        _check_choice("timestamps", self.timestamps, ("millis", "micros", "nanos", "text"))
        _check_names("millis", self.millis)
        _check_names("ignored", self.ignored)


@dataclass(frozen=True, kw_only=True)
class Dms:
    """AWS DMS's JSON (`data`, `before`, `metadata`), with `IncludeTransactionDetails` and `IncludeControlDetails`.

    A DMS timestamp alone is no order: a record without `stream-position` is refused, unless it is of the full load.

    Attributes:
        epoch: goes in front of every position.
        ignored: columns of the source that are left out on purpose.
    """

    epoch: int = 0
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _check_epoch(self.epoch)
        _check_names("ignored", self.ignored)


@dataclass(frozen=True, kw_only=True)
class Flat:
    """Flattened records: the row's columns beside some that tell of the change.

    Attributes:
        operation: field of the operation; None: each record with a value is the row as it is now, as in a compacted
            topic, and one without deletes it.
        operations: what its values mean; any other value goes to quarantine.
        position: one or two whole-number fields, commit position first; none: the Kafka offset is the position, which
            is right where every key keeps to its partition and the topic is written in order.
        deleted: a field whose `true` (or "true") means that the row is gone, as Debezium's `__deleted`.
        source_time: field of the source's time: milliseconds since the epoch, or ISO 8601 text.
        transaction_id: field of the transaction.
        unavailable: text that stands for a value that was not sent.
        epoch: goes in front of every position.
        ignored: fields that are left out on purpose.
        plain_key: the Kafka key is the value of the one key column itself, text or number, and no JSON object.
    """

    operation: str | None = "__op"
    operations: Mapping[str, Operation] = field(default_factory=lambda: dict(FLAT_OPERATIONS))
    position: tuple[str, ...] = ("__source_lsn",)
    deleted: str | None = None
    source_time: str | None = None
    transaction_id: str | None = None
    unavailable: str = "__debezium_unavailable_value"
    epoch: int = 0
    ignored: tuple[str, ...] = ()
    plain_key: bool = False

    @classmethod
    def upserts(cls, *, plain_key: bool = False, source_time: str | None = None, ignored: tuple[str, ...] = ()) -> Self:
        """A compacted topic: the last value of each key is its row, and a tombstone deletes it.

        The order is that of the offsets, so each key has to keep to its partition, as Kafka's own partitioners see to.

        Args:
            plain_key: as the attribute.
            source_time: field of the source's time.
            ignored: fields that are left out on purpose.
        """
        return cls(operation=None, position=(), plain_key=plain_key, source_time=source_time, ignored=ignored)

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _check_epoch(self.epoch)
        _check_names("position", self.position)
        _check_names("ignored", self.ignored)
        if len(self.position) > 2:
            raise DeclarationError(
                f"Flat: a position of {len(self.position)} fields.", remedy="name at most two, commit position first."
            )
        unknown = sorted(set(self.operations.values()) - set(_OPERATIONS))
        if unknown or not self.operations:
            raise DeclarationError(
                f"Flat: operations cannot mean {', '.join(unknown) or 'nothing'}.",
                remedy=f"map each value to one of {', '.join(_OPERATIONS)}.",
            )


ChangeFormat = Debezium | Dms | Flat


def _check_epoch(epoch: int) -> None:
    if epoch < 0:
        raise DeclarationError(f"epoch is {epoch}.", remedy="count epochs from 0.")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise DeclarationError(f"{name} is '{value}'.", remedy=f"write one of {', '.join(choices)}.")


def _check_names(name: str, value: object) -> None:
    if not isinstance(value, tuple):
        raise DeclarationError(f"{name}: a tuple of names is needed.", remedy="write it as (…,) with a comma.")
