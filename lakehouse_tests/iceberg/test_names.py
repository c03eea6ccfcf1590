"""Names of tables are taken apart and put together in one place."""

import re

from lakehouse.iceberg.names import identifier_of, name_of
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
