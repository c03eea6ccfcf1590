"""Changelogs of one stream are read together, so they have to agree on how, and to say whose each change is."""

from pathlib import Path
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import BySource, Changelog, DeclarationError
from lakehouse.declarations.registry.change_streams import change_streams

FILE = Path("conf/declarations/shop.py")
ROW = pandera.DataFrameSchema({"id": pandera.Column(T.LongType(), nullable=False)})


def log(name: str, **more: Any) -> Changelog:
    declared = {"topic": "shop", "key": ("id",), "description": "Things.", "owner": "tests"} | more
    return Changelog(name=f"changelog.{name}", row=ROW, **declared)


def streams_of(*logs: Changelog) -> list[Any]:
    return list(change_streams({declared.name: (declared, FILE) for declared in logs}))


def test_changelogs_of_one_topic_are_one_stream() -> None:
    ((stream, file),) = streams_of(log("a", source="s.a"), log("b", source="s.b"))
    assert (stream.name, stream.topic, file) == ("shop", "shop", FILE)
    assert stream.route == BySource({"s.a": "changelog.a", "s.b": "changelog.b"})


def test_a_changelog_may_have_a_stream_of_its_own() -> None:
    streams = streams_of(log("a", source="s.a"), log("b", source="s.b", stream="apart"))
    assert sorted(stream.name for stream, _ in streams) == ["apart", "shop"]


@pytest.mark.parametrize(
    ("other", "attribute"),
    [({"max_quarantine_share": 0.5}, "max_quarantine_share"), ({"quarantine": "q.x"}, "quarantine")],
)
def test_those_of_one_stream_agree(other: dict[str, Any], attribute: str) -> None:
    with pytest.raises(DeclarationError, match=rf"shop\.py: changelog\.b and changelog\.a .* differ in {attribute}\."):
        streams_of(log("a", source="s.a"), log("b", source="s.b", **other))


@pytest.mark.parametrize("sources", [("s.a", None), ("s.a", "s.a")])
def test_each_says_which_source_table_is_its_own(sources: tuple[str | None, str | None]) -> None:
    with pytest.raises(DeclarationError, match="do not say which source table is whose"):
        streams_of(*(log(name, source=source) for name, source in zip("ab", sources, strict=True)))
