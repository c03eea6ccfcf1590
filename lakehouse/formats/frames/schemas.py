"""Which schema a record was written with: the one of the stream, or the one that the record names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa

from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.frames import confluent, glue
from lakehouse.formats.frames.framed import Framed, Rows, SchemaGroup, first_bytes
from lakehouse.formats.json.pieces import pieces
from lakehouse.formats.verdict import RecordError

SchemaKind = Literal["AVRO", "PROTOBUF", "JSON"]
_TOMBSTONE = RecordError("tombstone", "the record has no value")
_NO_MAGIC = "the value does not begin with byte {}, which stands in front of a schema id"


def names_no_schema(error: RecordError) -> bool:
    """Whether a record was refused because nothing at all stands in front of it."""
    return error.message.startswith(_NO_MAGIC.partition("{")[0])


@dataclass(frozen=True)
class WriterSchema:
    """A schema that records were written with.

    Attributes:
        text: of the schema.
        references: name and text of those that it refers to, each after those that it needs itself.
        compiled: of Protobuf, the `FileDescriptorSet` of the text, in which its own file is the last.
        kind: what it is written in.
    """

    text: str = ""
    references: tuple[tuple[str, str], ...] = ()
    compiled: bytes = b""
    kind: SchemaKind = "AVRO"

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts, its own last."""
        return (*(text for _, text in self.references), self.text)


class WriterSchemas(Protocol):
    """The schemas of a stream's records."""

    def framed(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> Framed:
        """The first of some records by their schemas, one at least; one that names none has an error."""
        ...

    def schema(self, schema_id: SchemaId) -> WriterSchema | RecordError | None:
        """A schema, or why its records cannot be read; nothing, where nobody has asked for it yet."""
        ...

    @property
    def named(self) -> bool:
        """Whether records name their schema."""
        ...


def framed_pieces(
    schemas: WriterSchemas, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None
) -> Iterator[tuple[int, Framed]]:
    """Cuts records into small pieces, each with its place, and takes off what stands around them."""
    for start, piece in pieces(values):
        done = 0
        while done < len(piece):
            rest = len(piece) - done
            framed = schemas.framed(piece.slice(done), headers and headers.slice(start + done, rest))
            yield start + done, framed
            done += len(framed.values)


@dataclass(frozen=True)
class SingleSchema:
    """All records are of one schema and name none."""

    text: str
    compiled: bytes = b""
    kind: SchemaKind = "AVRO"

    def framed(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> Framed:
        """All of them."""
        del headers
        errors, rows = _tombstones(values)
        return Framed(values, [SchemaGroup(0, rows, 0)] if len(rows) else [], errors)

    def schema(self, schema_id: SchemaId) -> WriterSchema | RecordError | None:
        """The schema."""
        del schema_id
        return WriterSchema(self.text, compiled=self.compiled, kind=self.kind)

    @property
    def named(self) -> bool:
        """No record names it."""
        return False


@dataclass(frozen=True)
class RegistrySchemas:
    """Records name their schemas by what registries call them, each in the way of its registry.

    Attributes:
        schemas: id → schema.
        refused: id → why its records cannot be read.
        confluent: whether there is a registry of Confluent's kind,
        glue: and whether there is one of AWS Glue.
    """

    schemas: Mapping[SchemaId, WriterSchema] = field(default_factory=dict[SchemaId, WriterSchema])
    refused: Mapping[SchemaId, RecordError] = field(default_factory=dict[SchemaId, RecordError])
    confluent: bool = True
    glue: bool = False

    def framed(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> Framed:
        """By header where there is one, else by the value."""
        first, lengths = first_bytes(values, glue.FRAME if self.glue else confluent.FRAME)
        errors, rows = _tombstones(values)
        if self.glue:
            values = glue.inflated(values, first, errors)
            first, lengths, rows = first[: len(values)], lengths[: len(values)], rows[rows < len(values)]
            errors = {row: error for row, error in errors.items() if row < len(values)}
        groups = confluent.by_header(headers, _left(rows, errors), errors) if self.confluent else []
        rows = _left(np.setdiff1d(rows, np.concatenate([group.rows for group in groups])) if groups else rows, errors)
        magic = first[rows, 0]
        for byte, by_value in self._ways():
            chosen = magic == byte
            groups += by_value(first, lengths, rows[chosen], errors) if chosen.any() else []
            rows, magic = rows[~chosen], magic[~chosen]
        error = RecordError("no_schema_id", _NO_MAGIC.format(" or ".join(str(byte) for byte, _ in self._ways())))
        errors.update(dict.fromkeys(rows.tolist(), error))
        return Framed(values, [group for group in groups if len(group.rows)], errors)

    def schema(self, schema_id: SchemaId) -> WriterSchema | RecordError | None:
        """As the registry has it."""
        return self.schemas.get(schema_id) or self.refused.get(schema_id)

    @property
    def texts(self) -> dict[SchemaId, tuple[str, ...]]:
        """Id → the texts of its schema, its own last."""
        return {schema: writer.texts for schema, writer in self.schemas.items()}

    def ids_in(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> set[SchemaId]:
        """The ids that some records name, without a look at what is known of them."""
        return {group.schema for _, framed in framed_pieces(self, values, headers) for group in framed.groups}

    @property
    def named(self) -> bool:
        """Each record names it."""
        return True

    def _ways(self) -> list[tuple[int, "_ByValue"]]:
        ways: list[tuple[int, _ByValue]] = [(0, confluent.by_value)] if self.confluent else []
        return [*ways, (glue.MAGIC, glue.by_value)] if self.glue else ways


class _ByValue(Protocol):
    def __call__(
        self, first: np.ndarray, lengths: Rows, rows: Rows, errors: dict[int, RecordError], /
    ) -> list[SchemaGroup]: ...


def _tombstones(values: pa.BinaryArray) -> tuple[dict[int, RecordError], Rows]:
    """Records without a value, and the others."""
    if not values.null_count:
        return {}, np.arange(len(values))
    null = values.is_null().to_numpy(zero_copy_only=False)
    return dict.fromkeys(np.flatnonzero(null).tolist(), _TOMBSTONE), np.flatnonzero(~null)


def _left(rows: Rows, errors: Mapping[int, RecordError]) -> Rows:
    return rows[~np.isin(rows, list(errors))] if errors else rows
