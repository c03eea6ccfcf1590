"""What refused messages tell of themselves: the position is read, whatever is wrong with an image."""

import json
from typing import Any

import pytest

from lakehouse.declarations import Debezium, Dms, Flat
from lakehouse_tests.formats.changes.decoding import changelog, decoder_of

SOURCE = {"connector": "postgresql", "schema": "public", "table": "things", "lsn": 12}
METADATA = {
    "timestamp": "2019-07-23T13:33:13.123456Z",
    "record-type": "data",
    "operation": "update",
    "schema-name": "public",
    "table-name": "things",
    "stream-position": "00000002/0A3C9B90.3.00000002/0A3C9B90",
    "transaction-record-id": 3,
}
WRONG = {"id": 1, "text": 7}
LSN = (2 << 32) | 0x0A3C9B90
CONNECT = {"schema": {}, "payload": {"op": "u", "after": WRONG, "source": SOURCE}}


@pytest.mark.parametrize(
    ("form", "message", "position"),
    [
        (Debezium(epoch=2), {"op": "u", "after": WRONG, "source": SOURCE}, (2, 12, 0)),
        (Debezium(), CONNECT, (0, 12, 0)),
        (Debezium(), {"op": "r", "after": WRONG, "source": SOURCE | {"snapshot": "true", "ts_ms": 5}}, (0, 0, 12)),
        (Debezium(), {"op": "u", "after": WRONG, "source": SOURCE | {"lsn": None}}, None),
        (Debezium(), {"op": "x", "after": WRONG, "source": SOURCE}, None),
        (Debezium(), {"op": "u", "after": WRONG}, None),
        (Debezium(), [], None),
        (Debezium(), None, None),
        (Dms(), {"metadata": METADATA, "data": WRONG}, (0, LSN, 3)),
        (Dms(), {"data": WRONG}, None),
        (Flat(position=("tx", "n")), {**WRONG, "__op": "u", "tx": 7, "n": 3}, (0, 7, 3)),
        (Flat(position=("tx",)), {**WRONG, "__op": "u", "tx": "x"}, None),
        (Flat(position=("text",)), {"id": "x", "text": "9", "__op": "u"}, None),
        (Flat(position=()), {**WRONG, "__op": "u"}, (0, 1, 41)),
    ],
)
def test_the_position_of_a_refused_message(form: Any, message: Any, position: tuple[int, int, int] | None) -> None:
    log = changelog(format=form)
    value = None if message is None else json.dumps(message).encode()
    other = json.dumps({"op": "u"}).encode()
    refused = decoder_of(log).refused(log.name, [other, value], [b'{"id": 1}', b'{"id": 1}'], [40, 41])
    assert refused.rows == [0, 1]
    assert refused.positions[1] == position
