"""Documents as writers leave them are read; whichever place of one is made to contradict the rest, it is named.

Guarded mechanism: a table that Spark refuses, or whose next column would get the id of another, passes the audit.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.iceberg.contradictions.contradiction import contradiction_in
from lakehouse.protocol.catalog.metadata_files import metadata_of
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse_tests.iceberg.contradictions.documents import MUTATIONS, Json, Mutation, document, spared

SEEDS = range(8)
LOCATION = "s3://b/t/metadata/9.metadata.json"


def mutated(mutation: Mutation) -> Iterator[Json]:
    for seed in SEEDS:
        for version in mutation.versions:
            whole = document(seed, version)
            mutation.edit(whole, random.Random(seed))
            yield whole


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_writers_leave_is_read(seed: int, version: int) -> None:
    for whole in (document(seed, version), spared(seed, version)):
        assert contradiction_in(whole) is None
        metadata = metadata_of(("raw", "a"), LOCATION, whole)
        assert metadata.refs["main"].snapshot_id == whole["current-snapshot-id"]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_contradiction_is_named_wherever_it_is(name: str) -> None:
    for whole in mutated(MUTATIONS[name]):
        with pytest.raises(MetadataFileDamaged, match=r"raw\.a: metadata file 9\.metadata\.json") as refused:
            metadata_of(("raw", "a"), LOCATION, whole)
        # What PyIceberg refuses by itself is told in its words.
        contradiction = contradiction_in(whole)
        assert MUTATIONS[name].words in f"{contradiction.words if contradiction else ''} {refused.value}"


def test_where_a_clock_was_slow_the_remedy_is_exact() -> None:
    whole = document(3)
    MUTATIONS["documents run backwards"].edit(whole, random.Random(3))
    contradiction = contradiction_in(whole)
    while contradiction is not None:
        place, value = (
            contradiction.remedy.partition("raise `")[2].partition("`")[0],
            int(contradiction.remedy.split(" to ")[1].split()[0]),
        )
        log, _, rest = place.partition("[")
        part: Any = whole[log][int(rest.partition("]")[0])] if rest else whole
        part["timestamp-ms" if rest else log] = value
        contradiction = contradiction_in(whole)
    assert metadata_of(("raw", "a"), LOCATION, whole).last_updated_ms == whole["last-updated-ms"]


@pytest.mark.soak
@pytest.mark.spark
def test_java_judges_alike(spark: SparkSession) -> None:
    parser: Any = spark._jvm.org.apache.iceberg.TableMetadataParser  # pyright: ignore

    def refuses(whole: Json) -> bool:
        try:
            parser.fromJson(LOCATION, json.dumps(whole)).snapshots().size()
        except Exception:  # noqa: BLE001 - a Java exception of any kind
            return True
        return False

    for version in (1, 2):
        assert not any(refuses(document(seed, version)) or refuses(spared(seed, version)) for seed in SEEDS)
    assert {name: mutation.java for name, mutation in MUTATIONS.items()} == {
        name: all(map(refuses, mutated(mutation))) for name, mutation in MUTATIONS.items()
    }
