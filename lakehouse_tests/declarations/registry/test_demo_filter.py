"""By one setting the demo is as if it had never been declared."""

from pathlib import Path

import pytest

from lakehouse.declarations import OWN_TABLES, DeclarationError, load_declarations
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.demo_declarations import demo_declarations
from lakehouse_tests.settings.test_loading import REPOSITORY

OWN = """
import pandera.pyspark as pa
from lakehouse import Stream, Table, ToTable

class Things(pa.DataFrameModel):
    id: int

things = Table(name="mine.things", schema=Things, description="Things.", owner="me")
stream = Stream(name="things", topic="things", route=ToTable("mine.things"))
"""
READS_THE_DEMO = OWN.replace(
    'ToTable("mine.things")', 'ByField("kind", {"a": "mine.things", "b": "raw.planes"})'
).replace("ToTable", "ByField")


def test_only_what_is_ones_own_is_left(tmp_path: Path) -> None:
    (tmp_path / "things.py").write_text(OWN)
    whole = load_declarations([demo_declarations(), tmp_path])
    assert {"flights", "reference", "flight_changes", "things"} == set(whole.streams)
    left = load_declarations([demo_declarations(), tmp_path], demo=False)
    assert set(left.streams) == {"things"}
    assert set(left.tables) - OWN_TABLES == {"mine.things", "quarantine.things"}
    assert (left.changelogs, left.mirrors, left.derived, left.releases) == ({}, {}, {}, {})


def test_what_reads_the_demo_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "things.py").write_text(READS_THE_DEMO)
    with pytest.raises(DeclarationError, match=r"stream things goes to raw\.planes, which is not declared"):
        load_declarations([demo_declarations(), tmp_path], demo=False)


def test_it_is_a_setting_and_on_as_shipped() -> None:
    conf = REPOSITORY / "conf"
    assert load_settings(conf, {}).demo
    assert not load_settings(conf, {"LAKEHOUSE_DEMO": "false"}).demo
