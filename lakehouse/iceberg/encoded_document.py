"""A metadata document as bytes: every commit writes all snapshots again as they were, so each is encoded once.

With two thousand of them, that was more than half of what writing a document took.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

_MOST = 20_000
# Snapshot id → the JSON that was encoded, and its bytes. Ids are random, and equal JSON decides, not the id.
_encoded: dict[int, tuple[dict[str, Any], msgspec.Raw]] = {}


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


def _raw(snapshot: dict[str, Any]) -> msgspec.Raw:
    snapshot_id = snapshot["snapshot-id"]
    known = _encoded.get(snapshot_id)
    if known is not None and (known[0] is snapshot or known[0] == snapshot):
        return known[1]
    raw = msgspec.Raw(msgspec.json.encode(snapshot))
    _encoded[snapshot_id] = (snapshot, raw)
    return raw
