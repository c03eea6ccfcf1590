"""Which seals settle what was below them."""

import pytest

from lakehouse import seal_keys
from lakehouse.protocol.seals.settling import is_settling, settles

_CASES = [
    ("adopt", {}, True),
    ("rebuild", {}, True),
    ("ingest", {}, False),
    ("write", {seal_keys.WRITE_MODE: "overwrite"}, True),
    ("write", {seal_keys.WRITE_MODE: "append"}, False),
    ("derive", {seal_keys.DERIVED_MODE: "full", seal_keys.DERIVED_PARTITION: "[]"}, True),
    ("derive", {seal_keys.DERIVED_MODE: "full", seal_keys.DERIVED_PARTITION: '["eu"]'}, False),
    ("derive", {seal_keys.DERIVED_MODE: "incremental", seal_keys.DERIVED_PARTITION: "[]"}, False),
]


@pytest.mark.parametrize(("kind", "statement", "settling"), _CASES)
def test_a_seal_of_this_kind(kind: str, statement: dict[str, str], *, settling: bool) -> None:
    assert is_settling(kind, statement) is settling
    keys = {seal_keys.PREFIX + key: text for key, text in statement.items()} | {seal_keys.KIND: kind}
    assert settles({seal_keys.VERSION: "1", **keys}) is settling
    assert not settles(keys), "a commit of rows to which somebody copied them"
