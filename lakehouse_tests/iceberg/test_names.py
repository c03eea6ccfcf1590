"""Names of tables are taken apart and put together in one place."""

import re

from lakehouse.iceberg.names import identifier_of, in_catalog, is_elsewhere, name_of, split_catalog
from lakehouse_tests.rooms import ROOT

_BY_HAND = re.compile(
    r"""(?:tuple|AssetKey)\([\w.]+\.split\("\."\)\)"""  # tuple(name.split("."))
    r"""|["']\.["']\.join\([\w.]+\.name\(\)\)"""  # ".".join(table.name())
)


def test_parts_and_name_are_each_others_inverse() -> None:
    assert identifier_of("raw.flights") == ("raw", "flights")
    assert name_of(identifier_of("raw.flights")) == "raw.flights"


def test_no_other_module_splits_a_name_by_hand() -> None:
    files = [file for file in (ROOT / "lakehouse").rglob("*.py") if "steps/maintenance/log" not in file.as_posix()]
    by_hand = [file for file in files if _BY_HAND.search(file.read_text(encoding="utf-8"))]
    assert by_hand == []


def test_a_table_of_another_catalog_has_its_name_before_a_colon() -> None:
    assert split_catalog("azure:raw.flights") == ("azure", "raw.flights")
    assert split_catalog("raw.flights") == ("", "raw.flights")
    assert is_elsewhere("azure:raw.flights")
    assert not is_elsewhere("raw.flights")
    assert [in_catalog(*split_catalog(name)) for name in ("azure:raw.flights", "raw.flights")] == [
        "azure:raw.flights",
        "raw.flights",
    ]
