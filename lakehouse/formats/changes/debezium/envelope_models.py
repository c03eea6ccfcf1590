"""Debezium's envelope as the parser knows it: of the source's description only what the changelog needs."""

from typing import Annotated, Any

import msgspec
import pyarrow as pa

from lakehouse.formats.changes.row_images import Images
from lakehouse.formats.json.model import record_model

_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Source(msgspec.Struct, gc=False):
    """Where a change comes from; members in the order of `SOURCE`."""

    connector: str | None = None
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    ts_ms: _Long | None = None
    ts_us: _Long | None = None
    lsn: _Long | None = None
    sequence: str | None = None
    file: str | None = None
    pos: _Long | None = None
    row: _Long | None = None
    txId: _Long | None = None  # noqa: N815
    gtid: str | None = None


class Transaction(msgspec.Struct, gc=False):
    """The transaction, where the connector tells of transactions."""

    id: str | None = None


_NUMBERS = frozenset(("ts_ms", "ts_us", "lsn", "pos", "row", "txId"))
SOURCE = pa.struct(
    [pa.field(name, pa.int64() if name in _NUMBERS else pa.string()) for name in Source.__struct_fields__]
)
TRANSACTION = pa.struct([pa.field("id", pa.string())])


class Models:
    """Models of the envelope of one table.

    Attributes:
        wire: columns of an envelope.
        strict: refuses an undeclared column in `after`.
        wrapped: the same beside its schema, and nothing else.
        lenient: skips undeclared columns.
        blank: an envelope of nothing.
    """

    def __init__(self, images: Images, ignored: tuple[str, ...]) -> None:
        after = images.raw(ignored)
        row = record_model(pa.schema(images.fields))
        whole = record_model(pa.schema(after))
        strict = msgspec.defstruct("Strict", [], bases=(whole,), forbid_unknown_fields=True, gc=False)
        self.wire = pa.schema(
            [
                pa.field("op", pa.string()),
                pa.field("before", pa.struct(images.fields)),
                pa.field("after", pa.struct(after)),
                pa.field("source", SOURCE),
                pa.field("transaction", TRANSACTION),
            ]
        )
        self.strict = _envelope(row, strict)
        self.lenient = _envelope(row, whole)
        self.blank = self.strict()
        self.wrapped = msgspec.defstruct(
            "Wrapped",
            [("schema", msgspec.Raw, msgspec.Raw()), ("payload", self.strict | None, None)],
            forbid_unknown_fields=True,
            gc=False,
        )


def _envelope(before: type[msgspec.Struct], after: type[msgspec.Struct]) -> type[msgspec.Struct]:
    members: list[tuple[str, Any, Any]] = [
        ("op", str | None, None),
        ("before", before | None, None),
        ("after", after | None, None),
        ("source", Source | None, None),
        ("transaction", Transaction | None, None),
    ]
    return msgspec.defstruct("Envelope", members, gc=False)
