"""A metadata document and its bytes: every commit writes all snapshots again as they were, so each is read once.

With two thousand of them, that was more than half of what reading and writing a document took. The same bytes are the
same object here, and whoever knows a snapshot knows that very object: Python takes 1, 1.0 and true for equal, and Java
does not.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

_MOST = 20_000
# A snapshot's JSON, as it was read and as it is written → what it says.
_read: dict[bytes, Any] = {}
# Snapshot id → what was encoded, and its bytes. Ids are random, and the same object decides, not the id.
_encoded: dict[int, tuple[dict[str, Any], msgspec.Raw]] = {}


def decoded_document(content: bytes) -> dict[str, Any]:
    """The document that JSON says; nobody may change it.

    Raises:
        msgspec.DecodeError: it is no JSON.
        msgspec.ValidationError: it is no object.
    """
    parts = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    return {key: _snapshots(raw) if key == "snapshots" else msgspec.json.decode(raw) for key, raw in parts.items()}


def encoded_document(document: Mapping[str, Any]) -> bytes:
    """The document's JSON.

    Args:
        document: table metadata (Iceberg table spec, "Table Metadata Fields"); nobody may change its snapshots
            afterwards.
    """
    snapshots = document.get("snapshots")
    if not snapshots:
        return msgspec.json.encode(document)
    if len(_encoded) > _MOST:
        _encoded.clear()
    return msgspec.json.encode({**document, "snapshots": [_raw(snapshot) for snapshot in snapshots]})


def _snapshots(content: msgspec.Raw) -> Any:
    if len(_read) > _MOST:
        _read.clear()
    try:
        items = msgspec.json.decode(content, type=list[msgspec.Raw])
    except msgspec.ValidationError:  # no list: it is for others to say so
        return msgspec.json.decode(content)
    return [_item(bytes(item)) for item in items]


def _item(content: bytes) -> Any:
    if (known := _read.get(content)) is None:
        item = msgspec.json.decode(content)
        # Spark puts spaces between, and we do not.
        known = _read.setdefault(msgspec.json.encode(item), item)
        _read[content] = known
    return known


def _raw(snapshot: dict[str, Any]) -> msgspec.Raw:
    snapshot_id = snapshot["snapshot-id"]
    known = _encoded.get(snapshot_id)
    if known is not None and known[0] is snapshot:
        return known[1]
    content = msgspec.json.encode(snapshot)
    raw = msgspec.Raw(content)
    _encoded[snapshot_id] = (snapshot, raw)
    _read.setdefault(content, snapshot)
    return raw
