"""The text that `lakehouse infer` proposes is a declaration that loads, and says what to look at."""

from pathlib import Path

from lakehouse.formats.inference.proposal import declaration_text
from lakehouse.formats.inference.sample import infer
from lakehouse.testing import judge_records, load_declarations

RECORDS = [
    '{"id": 1, "unit price": 1.5, "Kind": "a", "kind": "b", "inner": {"x": [1]}, "when": "2026-01-02T03:04:05Z"}',
    '{"id": 2, "unit price": 2, "Kind": "a", "kind": "c", "inner": null, "when": "2026-01-02T03:04:05Z"}',
]


def test_the_records_of_the_sample_are_rows_of_the_proposed_table(tmp_path: Path) -> None:
    columns = infer([record.encode() for record in RECORDS]).columns
    text = declaration_text("raw.things", "shop.things", "shop_things", columns, "2 records", "")
    assert "# another field has this name but for its case" in text
    (tmp_path / "things.py").write_text(text)
    judged = judge_records(load_declarations([tmp_path]), "shop_things", RECORDS)
    assert judged.refused == {}
    assert [row["unit_price"] for row in judged.rows["raw.things"]] == [1.5, 2.0]
    assert [row["kind_2"] for row in judged.rows["raw.things"]] == ["b", "c"]


def test_a_proposed_key_is_a_remark_that_can_be_taken_as_it_is(tmp_path: Path) -> None:
    columns = infer([record.encode() for record in RECORDS]).columns
    text = declaration_text("raw.things", "shop.things", "shop_things", columns, "2 records", "", ("id",))
    for content, key in ((text, ()), (text.replace("# key=", "key="), ("id",))):
        (tmp_path / "things.py").write_text(content)
        assert load_declarations([tmp_path]).tables["raw.things"].key == key
