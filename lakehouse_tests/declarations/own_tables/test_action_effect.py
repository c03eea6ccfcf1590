"""What an action did is stored as JSON, which keeps its names and is read whatever release wrote it."""

import msgspec

from lakehouse.declarations.own_tables.action_effect import ActionEffect, ActionMeasures, TableMeasure


def test_only_what_was_counted_is_stored() -> None:
    effect = ActionEffect(files_out=9, files_in=1, proof_engine="polars", seconds=0.0)
    assert effect.counted() == {"files_out": 9, "files_in": 1, "proof_engine": "polars", "seconds": 0.0}
    assert ActionEffect(died=True).counted() == {"died": True}
    assert not ActionEffect().counted()
    stored = msgspec.json.decode(ActionMeasures(TableMeasure(files=2), None, effect).to_json())
    assert sorted(stored) == ["after", "before", "facts"]
    assert stored["facts"] == effect.counted()
    assert (stored["before"]["files"], stored["after"]) == (2, None)


def test_what_was_stored_is_read_again() -> None:
    effect = ActionEffect(rows_removed=3, partitions=1, counted_until_ms=1_700_000_000_000, seconds=1.5)
    for after in (None, TableMeasure(files=1, bytes=2, seconds=3.0)):
        measures = ActionMeasures(TableMeasure(files=2), after, effect)
        assert ActionMeasures.from_json(measures.to_json()) == measures


def test_what_other_releases_stored_is_passed_over() -> None:
    text = '{"after":{"commit_ms":2.0,"files":1,"seconds":3},"before":{"files":20},"facts":{"gain":1.0,"rows":7}}'
    measures = ActionMeasures.from_json(text)
    assert measures == ActionMeasures(TableMeasure(files=20), TableMeasure(files=1, seconds=3.0), ActionEffect(rows=7))
    assert ActionMeasures.from_json("{}") == ActionMeasures()
