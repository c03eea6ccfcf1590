"""All formats of records that are no changes, and several of them in one topic, as a stream in transition has them."""

from dataclasses import dataclass
from typing import Literal

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.formats.json_schema_format import JsonSchema
from lakehouse.declarations.formats.protobuf_format import Protobuf
from lakehouse.declarations.formats.record_format import Avro, Raw

MixedPart = Literal["json"] | Avro | JsonSchema | Protobuf


@dataclass(frozen=True)
class Mixed:
    """Records of several wire formats, told apart record by record: `Mixed("json", Avro(registry=True))`.

    Attributes:
        formats: those with a registry, each kind once; a record that names a schema is of that schema's kind. One of
            them may be `"json"` or a `JsonSchema` of a file: what names no schema is text.
    """

    formats: tuple[MixedPart, ...]

    def __init__(self, *formats: MixedPart) -> None:
        """Takes the formats.

        Raises:
            DeclarationError: they cannot be told apart.
        """
        object.__setattr__(self, "formats", formats)
        framed = [type(form).__name__ for form in self.framed]
        text = self._text
        if len(formats) < 2 or len({*framed}) < len(framed) or len(text) > 1 or len(framed) + len(text) < len(formats):
            raise DeclarationError(
                f"Mixed: {', '.join(map(_shown, formats)) or 'nothing'} cannot be told apart.",
                remedy='name several kinds with registry=True, each once, and at most one of "json" and a JsonSchema '
                "of a file.",
            )

    @property
    def registry(self) -> bool:
        """Records name their schemas, as far as they are no plain text."""
        return True

    @property
    def framed(self) -> tuple[Avro | JsonSchema | Protobuf, ...]:
        """Those whose records name a schema."""
        return tuple(form for form in self.formats if isinstance(form, Avro | JsonSchema | Protobuf) and form.registry)

    @property
    def plain(self) -> Literal["json"] | JsonSchema | None:
        """The format of records that name none."""
        return next(iter(self._text), None)

    @property
    def _text(self) -> list[Literal["json"] | JsonSchema]:
        text: list[Literal["json"] | JsonSchema] = []
        for form in self.formats:
            if isinstance(form, JsonSchema) and not form.registry:
                text.append(form)
            elif isinstance(form, str):
                text.append("json")
        return text


def _shown(form: object) -> str:
    return repr(form) if isinstance(form, str) else type(form).__name__


Encoded = Raw | Avro | JsonSchema | Protobuf | Mixed
RecordFormat = Literal["json"] | Encoded


def names_schema(form: object) -> bool:
    """Whether records name their schema, which a registry has."""
    return isinstance(form, Avro | JsonSchema | Protobuf | Mixed) and form.registry
