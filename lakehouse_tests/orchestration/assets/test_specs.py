"""What an asset says of its declaration."""

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import DeclarationError, load_declarations
from lakehouse.orchestration.assets.specs import declaration_digest, owner_of, table_spec
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.orchestration.assets.house import STREAM, TABLE, write_conf
from lakehouse_tests.test_build import NOWHERE


@pytest.fixture
def conf(tmp_path: Path, jars: Path) -> Path:
    folder = write_conf(tmp_path, NOWHERE, jars)
    (folder / "declarations" / "birds.py").write_text(TABLE)
    (folder / "declarations" / "sightings.py").write_text(STREAM.format(topic="birds"))
    return folder


def test_code_versions_change_with_what_decides_and_not_with_words(conf: Path) -> None:
    def digest(text: str) -> str:
        (conf / "declarations" / "birds.py").write_text(text)
        declarations = load_declarations([conf / "declarations"])
        return declaration_digest(declarations.tables["raw.birds"], declarations.streams["birds"])

    same = digest(TABLE)
    assert digest(TABLE) == same
    assert digest(TABLE.replace("Name of the bird", "What the bird is called")) == same
    assert digest(TABLE.replace("ge=1", "ge=2")) != same
    assert digest(TABLE.replace("count: int", "count: float")) != same


def test_owners_are_people_or_teams(conf: Path) -> None:
    table = load_declarations([conf / "declarations"]).tables["raw.birds"]
    assert owner_of(table) == "team:ornithology"


def test_a_table_may_say_how_fresh_dagster_has_to_find_it() -> None:
    declared = declare({"id": T.LongType()}, fresh_within=timedelta(hours=6))
    assert table_spec(declared, group="g").freshness_policy == dg.FreshnessPolicy.time_window(timedelta(hours=6))
    assert table_spec(declare({"id": T.LongType()}), group="g").freshness_policy is None
    with pytest.raises(DeclarationError, match="at least a minute"):
        declare({"id": T.LongType()}, fresh_within=timedelta(seconds=5))
