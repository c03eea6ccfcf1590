"""Staging and publishing edit the metadata document, and leave in it whatever they know nothing about.

Guarded mechanism: snapshot and reference changes are made on the JSON; PyIceberg's model, written back, would lose
main's retention, encryption keys, unknown fields, and could not even load statistics of another engine.
"""

import gzip
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from pyspark.sql import SparkSession

from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import ClockSkew
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.protocol.commit.oracle import Oracle


def edit(lake: Lake, table: str, **changes: Any) -> None:
    """Another program wrote the present metadata: the file that the catalog names is changed in place."""
    path = Path(urlparse(lake.load(f"{lake.namespace}.{table}").metadata_location).path)
    content = path.read_bytes()
    packed = content[:2] == b"\x1f\x8b"
    document = json.loads(gzip.decompress(content) if packed else content)
    for key, value in changes.items():
        document[key.replace("_", "-")] = value(document) if callable(value) else value
    written = json.dumps(document).encode()
    path.write_bytes(gzip.compress(written) if packed else written)


def with_retention(document: dict[str, Any]) -> dict[str, Any]:
    kept = {"min-snapshots-to-keep": 7, "max-snapshot-age-ms": 86_400_000, "of-a-later-version": [1, 2]}
    return {name: {**ref, **(kept if name == "main" else {})} for name, ref in document["refs"].items()}


def statistics(document: dict[str, Any]) -> list[dict[str, Any]]:
    head = document["current-snapshot-id"]
    blob = {"snapshot-id": head, "sequence-number": 1, "fields": [1], "properties": {"ndv": "3"}}
    file = {"snapshot-id": head, "statistics-path": "file:///s.puffin", "file-size-in-bytes": 9}
    kinds = ("apache-datasketches-theta-v1", "of-another-engine-v1")
    return [{**file, "file-footer-size-in-bytes": 5, "blob-metadata": [{"type": kind, **blob}]} for kind in kinds]


KEYS = [{"key-id": "k1", "encrypted-key-metadata": "c2VjcmV0", "encrypted-by-id": "kms"}]
UNKNOWN = {"of-a-later-version": {"deeply": ["nested", 1]}}
LAYOUTS = {
    "v1": {"format-version": "1"},
    "v2": {},
    "v1-gzip": {"format-version": "1", "write.metadata.compression-codec": "gzip"},
    "v2-gzip": {"write.metadata.compression-codec": "gzip"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_others_wrote_survives_a_commit(sql_lake: Lake, layout: str) -> None:
    lake, oracle = sql_lake, Oracle.of(sql_lake)
    lake.create("a", **LAYOUTS[layout])
    lake.write("first", a=[1])
    edit(lake, "a", refs=with_retention, statistics=statistics, encryption_keys=KEYS, x_unknown=UNKNOWN)
    before = oracle_document(lake, "a")
    lake.write("second", a=[2])
    lake.load(f"{lake.namespace}.a").transaction().set_properties({"who": "else"}).commit_transaction()
    lake.write("third", a=[3])
    after = oracle_document(lake, "a")
    for key in ("statistics", "encryption-keys", "x-unknown", "table-uuid", "location", "format-version", "schemas"):
        assert after[key] == before[key], key
    assert after["properties"] == before["properties"] | {"who": "else"}
    assert {**after["refs"]["main"], "snapshot-id": 0} == {**before["refs"]["main"], "snapshot-id": 0}
    assert [s for s in after["snapshots"] if s in before["snapshots"]] == before["snapshots"]
    assert after["snapshot-log"][: len(before["snapshot-log"])] == before["snapshot-log"]
    location = lake.load(f"{lake.namespace}.a").metadata_location
    assert location.endswith(".gz.metadata.json") == ("gzip" in layout)
    if "v1" in layout:
        edit(lake, "a", statistics=[])
        assert oracle.rows("a") == {1: "1", 2: "2", 3: "3"}


def oracle_document(lake: Lake, table: str) -> dict[str, Any]:
    """The JSON, found without PyIceberg's model, which refuses the other engine's statistics."""
    folder = Path(urlparse(lake.settings.warehouse).path) / lake.namespace / table / "metadata"
    newest = max(folder.glob("*.metadata.json"), key=lambda path: int(path.name.split("-", 1)[0]))
    content = newest.read_bytes()
    return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


@pytest.mark.spark
@pytest.mark.slow
def test_java_reads_and_commits_on_top(sql_lake: Lake, spark_on: SparkOn) -> None:
    lake, oracle = sql_lake, Oracle.of(sql_lake)
    for number, layout in enumerate(LAYOUTS):
        lake.create(f"t{number}", **LAYOUTS[layout])
        lake.write("first", **{f"t{number}": [1]})
        edit(lake, f"t{number}", refs=with_retention)
        lake.write("second", **{f"t{number}": [2]})
    with spark_on(lake.settings) as spark:
        for number in range(len(LAYOUTS)):
            name = f"lake.{lake.namespace}.t{number}"
            assert numbers(spark, name) == [1, 2]
            spark.sql(f"INSERT INTO {name} VALUES (3, 'java')")
            refs = spark.sql(f"SELECT * FROM {name}.refs WHERE name = 'main'").collect()
            assert [row["min_snapshots_to_keep"] for row in refs] == [7]
            assert numbers(spark, name) == [1, 2, 3]
    assert [oracle.rows(f"t{number}")[3] for number in range(len(LAYOUTS))] == ["java"] * len(LAYOUTS)


def numbers(spark: SparkSession, name: str) -> list[int]:
    return sorted(row["n"] for row in spark.sql(f"SELECT n FROM {name}").collect())


@pytest.mark.parametrize(("ahead", "refused"), [(50, False), (70, True)])
def test_a_table_ahead_of_our_clock(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, ahead: int, refused: bool) -> None:
    """Java cannot read a table whose history runs backwards, so nobody may publish from far behind."""
    lake, oracle = sql_lake, Oracle.of(sql_lake)
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], Attempt(run_id="r", step="s"), [2])
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - ahead * 10**9)
    if refused:
        with pytest.raises(ClockSkew, match="NTP"):
            publish(lake.catalog, [staged])
    else:
        publish(lake.catalog, [staged])
    assert len(oracle.rows("a")) == (1 if refused else 2)
    times = [entry["timestamp-ms"] for entry in oracle.document("a")["snapshot-log"]]
    assert times == sorted(times)


@pytest.mark.parametrize("versions", ["many", "", "0", "-3"])
def test_a_number_of_versions_that_is_none_ends_no_commit(sql_lake: Lake, versions: str) -> None:
    name = sql_lake.create("a")
    with sql_lake.load(name).transaction() as change:
        change.set_properties({"write.metadata.previous-versions-max": versions})
    sql_lake.write("first", a=[1])
    assert sql_lake.rows(name) == [1]
    assert len(sql_lake.load(name).metadata.metadata_log) == (1 if versions in ("0", "-3") else 4)
