"""Ids in front of values and in headers, at their edges."""

import numpy as np
import pyarrow as pa

from lakehouse.formats.frames import confluent
from lakehouse.formats.frames.framed import SchemaGroup, first_bytes
from lakehouse.formats.verdict import RecordError


def test_groups_are_by_id_in_the_order_of_records() -> None:
    values = pa.array([b"\x00\x00\x00\x00\x02", b"\x00\x00\x00\x00\x01", b"\x00\x00\x00\x00\x02x"], pa.binary())
    errors: dict[int, RecordError] = {}
    groups = confluent.by_value(*first_bytes(values, confluent.FRAME), np.arange(3), errors)
    assert [(group.schema, group.rows.tolist()) for group in groups] == [(1, [1]), (2, [0, 2])]
    assert not errors


def test_no_header_is_no_group() -> None:
    errors: dict[int, RecordError] = {}
    no_groups: list[SchemaGroup] = []
    assert confluent.by_header(None, np.arange(2), errors) == no_groups
    assert confluent.by_header(pa.array([None, "[]"], pa.string()), np.arange(2), errors) == no_groups
