"""What workers are given: tables that each have a folder of their own."""

import json
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import ByField, Stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.ingest.refusals import LocationShared
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import Document, edit_document
from lakehouse_tests.steps.ingest.in_process import InProcess

A, B = "raw.a", "raw.b"


def test_a_table_whose_location_became_its_siblings_is_refused(tmp_path: Path) -> None:
    """A worker's files would meet each other under one name."""
    settings = sql_settings(tmp_path)
    stream = Stream(name="things", topic="things", route=ByField("kind", {"a": A, "b": B}))
    things = InProcess(open_catalog(settings), stream)
    columns = {"id": pandera.Column(T.LongType(), nullable=False), "kind": T.StringType()}
    things.declare(*(declare(columns, name=name).with_coordinates() for name in (A, B)))
    records = [(b"k", json.dumps({"id": 1, "kind": kind}).encode()) for kind in "ab"]
    things.ingest({0: records})
    location = things.load(B).location()

    def move(document: Document) -> None:
        document["location"] = f"{location}/"

    edit_document(tmp_path / "catalog.db", A, move)
    with pytest.raises(LocationShared, match=rf"{B} and {A} have one location, {location}.*restore it from a backup"):
        InProcess(open_catalog(settings), stream, things.declarations, things.ends).ingest({0: records})
