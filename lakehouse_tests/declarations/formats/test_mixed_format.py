"""What can be told apart in one topic, and what cannot."""

from pathlib import Path

import pytest

from lakehouse.declarations import Avro, DeclarationError, JsonSchema, Mixed, Protobuf, Raw, names_schema


def test_the_formats_with_a_registry_and_the_one_of_text(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text("{}", encoding="utf-8")
    avro, text = Avro(registry=True), JsonSchema(file)
    assert (Mixed("json", avro).framed, Mixed("json", avro).plain) == ((avro,), "json")
    assert Mixed(avro, text, JsonSchema(registry=True)).plain == text
    assert Mixed(avro, Protobuf(registry=True)).plain is None
    assert names_schema(Mixed("json", avro))


@pytest.mark.parametrize(
    "formats",
    [
        (),
        ("json",),
        (Avro(registry=True), Avro(registry=True)),
        ("json", Raw()),
        ("json", "json"),
        (Mixed("json", Avro(registry=True)), Protobuf(registry=True)),
    ],
)
def test_what_cannot_be_told_apart_is_refused(formats: tuple[object, ...]) -> None:
    with pytest.raises(DeclarationError, match="cannot be told apart"):
        Mixed(*formats)  # type: ignore[arg-type]
