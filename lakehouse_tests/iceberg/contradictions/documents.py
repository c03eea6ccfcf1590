"""Metadata documents as writers leave them, drawn by a seed, and every way to make one contradict itself."""

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
HOUR = 3_600_000
BEGINNING = 1_700_000_000_000
COLUMNS: list[Json] = [
    {"id": 1, "name": "id", "required": True, "type": "long"},
    {"id": 2, "name": "name", "required": False, "type": "string"},
    {"id": 3, "name": "seen", "required": False, "type": "timestamptz"},
    {
        "id": 4,
        "name": "place",
        "required": False,
        "type": {
            "type": "struct",
            "fields": [
                {"id": 5, "name": "name", "required": False, "type": "string"},
                {"id": 6, "name": "height", "required": False, "type": "decimal(9, 2)"},
            ],
        },
    },
    {
        "id": 7,
        "name": "tags",
        "required": False,
        "type": {"type": "list", "element-id": 8, "element": "string", "element-required": False},
    },
    {
        "id": 9,
        "name": "counts",
        "required": False,
        "type": {
            "type": "map",
            "key-id": 10,
            "key": "string",
            "value-id": 11,
            "value": "int",
            "value-required": False,
        },
    },
]
SPECS: list[Json] = [
    {"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"name": "name", "transform": "identity", "source-id": 2, "field-id": 1000}]},
    {
        "spec-id": 2,
        "fields": [
            {"name": "seen_day", "transform": "day", "source-id": 3, "field-id": 1001},
            {"name": "id_bucket", "transform": "bucket[4]", "source-id": 1, "field-id": 1002},
        ],
    },
]
ORDER: Json = {
    "order-id": 1,
    "fields": [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}],
}


def document(seed: int, version: int = 2) -> Json:
    """A table that was evolved, published to, tagged and expired some times; a dropped column is in an old spec."""
    chance = random.Random(seed)
    schemas: list[Json] = [{"type": "struct", "schema-id": n, "fields": deepcopy(COLUMNS[: 3 + n])} for n in range(4)]
    schemas.append({"type": "struct", "schema-id": 4, "fields": deepcopy(COLUMNS)})
    del schemas[-1]["fields"][1]
    if chance.random() < 0.5:  # whoever cleans up drops schemas that no snapshot is of
        schemas = schemas[chance.randrange(4) :]
    snapshots, parent = list[Json](), chance.choice([None, 999])  # one that has expired
    for number in range(1, chance.randint(4, 9)):
        snapshot: Json = {
            "snapshot-id": 10 + number,
            "timestamp-ms": BEGINNING + number * HOUR - chance.randrange(50_000),
            "manifest-list": f"s3://b/t/metadata/snap-{number}.avro",
            "schema-id": 4,
            "summary": {"operation": "append", "total-records": str(number)},
        }
        if parent is not None:
            snapshot["parent-snapshot-id"] = parent
        if version > 1:
            snapshot["sequence-number"] = number
        snapshots.append(snapshot)
        parent = snapshot["snapshot-id"]
    last = snapshots[-1]
    whole: Json = {
        "format-version": version,
        "table-uuid": "5d2ba8c4-0d92-4ac7-a5c9-9a3b4a8d4a9f",
        "location": "s3://b/t",
        "last-updated-ms": BEGINNING + 20 * HOUR,
        "last-column-id": 11,
        "schemas": schemas,
        "current-schema-id": 4,
        "partition-specs": deepcopy(SPECS),
        "default-spec-id": 2,
        "last-partition-id": 1002,
        "sort-orders": [{"order-id": 0, "fields": []}, deepcopy(ORDER)],
        "default-sort-order-id": 0,
        "properties": {"owner": "tests"},
        "current-snapshot-id": last["snapshot-id"],
        "snapshots": snapshots,
        "refs": {
            "main": {"snapshot-id": last["snapshot-id"], "type": "branch"},
            "kept": {"snapshot-id": chance.choice(snapshots)["snapshot-id"], "type": "tag", "max-ref-age-ms": HOUR},
        },
        "snapshot-log": [{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]} for s in snapshots],
        "metadata-log": [
            {"metadata-file": f"s3://b/t/metadata/{n}.metadata.json", "timestamp-ms": BEGINNING + n * HOUR}
            for n in range(chance.randint(2, 6))
        ],
    }
    if version > 1:
        whole["last-sequence-number"] = len(snapshots) + chance.randrange(3)
    else:
        whole["schema"], whole["partition-spec"] = schemas[-1], SPECS[-1]["fields"]
    return whole


@dataclass(frozen=True)
class Mutation:
    """One way.

    Args:
        edit: makes the document contradict itself, anywhere that it may be.
        words: of what is told.
        java: whether Java's parser refuses it as well; otherwise it would harm the next writer.
        versions: of the format.
    """

    edit: Callable[[Json, random.Random], object]
    words: str
    java: bool = True
    versions: tuple[int, ...] = (1, 2)


def _again(key: str) -> Callable[[Json, random.Random], object]:
    def double(d: Json, chance: random.Random) -> None:
        d[key].insert(chance.randrange(len(d[key]) + 1), deepcopy(chance.choice(d[key])))

    return double


def _put(*path: str | int, value: Any) -> Callable[[Json, random.Random], object]:
    """Set what is at a path; "?" is any member of a list."""

    def put(d: Any, chance: random.Random) -> None:
        for part in path[:-1]:
            d = chance.choice(d) if part == "?" else d[part]
        d[path[-1]] = value

    return put


def _as_text(*path: str | int) -> Callable[[Json, random.Random], object]:
    def change(d: Any, chance: random.Random) -> None:
        for part in path[:-1]:
            d = chance.choice(d) if part == "?" else d[part]
        d[path[-1]] = str(d[path[-1]])

    return change


def _without(*path: str | int) -> Callable[[Json, random.Random], object]:
    """Take away what is at a path; "?" is any member of a list."""

    def take(d: Any, chance: random.Random) -> None:
        for part in path[:-1]:
            d = chance.choice(d) if part == "?" else d[part]
        d.pop(path[-1], None)

    return take


def _never_written(d: Json, _: random.Random) -> None:
    d["snapshot-log"], d["metadata-log"] = [], []
    del d["last-updated-ms"]


def _circle(d: Json, chance: random.Random) -> None:
    places = sorted(chance.sample(range(len(d["snapshots"])), 2))
    first, second = (d["snapshots"][place] for place in places)
    first["parent-snapshot-id"] = chance.choice([first, second])["snapshot-id"]


def _earlier_than_parent(d: Json, _: random.Random) -> None:
    numbers = [snapshot["sequence-number"] for snapshot in d["snapshots"]]
    for snapshot, number in zip(d["snapshots"], reversed(numbers), strict=True):
        snapshot["sequence-number"] = number


def _backwards(log: str) -> Callable[[Json, random.Random], object]:
    def put_back(d: Json, chance: random.Random) -> None:
        d[log][chance.randrange(1, len(d[log]))]["timestamp-ms"] -= 2 * HOUR

    return put_back


MUTATIONS: dict[str, Mutation] = {
    "schema twice": Mutation(_again("schemas"), "2 schemas have the id"),
    "spec twice": Mutation(_again("partition-specs"), "2 partition specs have the id"),
    "order twice": Mutation(_again("sort-orders"), "2 sort orders have the id"),
    "snapshot twice": Mutation(_again("snapshots"), "2 snapshots have the id"),
    "field id twice": Mutation(_put("schemas", "?", "fields", 1, "id", value=1), "2 fields have the id 1"),
    "nested field id twice": Mutation(
        _put("schemas", -1, "fields", 2, "type", "fields", 1, "id", value=3), "2 fields have the id 3"
    ),
    "element id twice": Mutation(
        _put("schemas", -1, "fields", 3, "type", "element-id", value=1), "2 fields have the id 1"
    ),
    "field name twice": Mutation(_put("schemas", "?", "fields", 1, "name", value="id"), "2 fields have the name id"),
    "no such spec": Mutation(_put("default-spec-id", value=7), "`default-spec-id` is 7", java=False),
    "no such order": Mutation(_put("default-sort-order-id", value=7), "`default-sort-order-id` is 7", java=False),
    "column beyond the last": Mutation(_put("last-column-id", value=10), "`last-column-id` is 10", java=False),
    "partition beyond the last": Mutation(
        _put("last-partition-id", value=1001), "`last-partition-id` is 1001", java=False
    ),
    "spec of no column": Mutation(
        _put("partition-specs", -1, "fields", "?", "source-id", value=99), "column 99, which no schema"
    ),
    "spec of a dropped column": Mutation(_put("default-spec-id", value=1), "column 2, which no schema"),
    "old spec of no column": Mutation(
        _put("partition-specs", 1, "fields", 0, "source-id", value=99), "column 99, and `last-column-id`", java=False
    ),
    "spec that cannot be": Mutation(
        _put("partition-specs", -1, "fields", 1, "transform", value="hour"), "made by hour of column id"
    ),
    "partition name twice": Mutation(
        _put("partition-specs", -1, "fields", 0, "name", value="id_bucket"), "2 fields have the name id_bucket"
    ),
    "partition id twice": Mutation(
        _put("partition-specs", -1, "fields", 0, "field-id", value=1002), "2 fields have the id 1002", java=False
    ),
    "partition of another column's name": Mutation(
        _put("partition-specs", -1, "fields", 0, "name", value="id"), "and column 1 has that name"
    ),
    "old spec that cannot be": Mutation(
        _put("partition-specs", 1, "fields", 0, value={**SPECS[2]["fields"][0], "source-id": 1}),
        "made by day of column id",
    ),
    "spec of a list": Mutation(
        _put("partition-specs", -1, "fields", 0, "source-id", value=8), "tags.element, which has no single value"
    ),
    "spec of a struct": Mutation(
        _put("partition-specs", -1, "fields", 0, "source-id", value=4), "place, which has no single value"
    ),
    "key of no field": Mutation(
        _put("schemas", "?", "identifier-field-ids", value=[99]), "key has field 99, which is not in it"
    ),
    "key that may be null": Mutation(
        _put("schemas", "?", "identifier-field-ids", value=[3]), "key has field seen, which is optional"
    ),
    "no references": Mutation(_put("refs", value=None), "`refs` is no object"),
    "no properties": Mutation(_put("properties", value=None), "`properties` is null"),
    "summary of nothing": Mutation(_put("snapshots", "?", "summary", value=None), "`snapshot"),
    "order of a dropped column": Mutation(_put("default-sort-order-id", value=1), "column 2, which no schema"),
    "sorted order 0": Mutation(
        _put("sort-orders", 0, "fields", value=deepcopy(ORDER["fields"])), "sort order 0 has 1 fields"
    ),
    "unsorted order 1": Mutation(_put("sort-orders", 1, "fields", value=[]), "sort order 1 has 0 fields"),
    "no uuid": Mutation(_without("table-uuid"), "`table-uuid` is missing", versions=(2,)),
    "no schema id": Mutation(_without("current-schema-id"), "`current-schema-id` is missing", versions=(2,)),
    "no spec id": Mutation(_without("default-spec-id"), "`default-spec-id` is missing", versions=(2,)),
    "no last partition": Mutation(_without("last-partition-id"), "`last-partition-id` is missing", versions=(2,)),
    "no orders": Mutation(_without("sort-orders"), "`sort-orders` is missing", versions=(2,)),
    "no order id": Mutation(_without("default-sort-order-id"), "`default-sort-order-id` is missing", versions=(2,)),
    "no time": Mutation(_never_written, "`last-updated-ms` is missing"),
    "snapshot of no time": Mutation(_without("snapshots", "?", "timestamp-ms"), "timestamp-ms` is missing"),
    "parent of nothing": Mutation(
        _put("snapshots", "?", "parent-snapshot-id", value=None), "parent-snapshot-id` is null"
    ),
    "sequence number of nothing": Mutation(
        _put("snapshots", "?", "sequence-number", value=None), "sequence-number` is null"
    ),
    "no statistics": Mutation(_put("statistics", value=None), "`statistics` is no list"),
    "field of no requirement": Mutation(_without("schemas", "?", "fields", 0, "required"), "required` is missing"),
    "schema of no fields": Mutation(_without("schemas", "?", "fields"), "`fields` is missing"),
    "spec of no fields": Mutation(_without("partition-specs", "?", "fields"), "`fields` is missing"),
    "order of no fields": Mutation(_without("sort-orders", "?", "fields"), "`fields` is missing"),
    "order of no direction": Mutation(_without("sort-orders", 1, "fields", 0, "direction"), "direction` is missing"),
    "order of no place for nulls": Mutation(
        _without("sort-orders", 1, "fields", 0, "null-order"), "null-order` is missing"
    ),
    "no sequence number": Mutation(_without("last-sequence-number"), "and the last is 0", versions=(2,)),
    "lower sequence number": Mutation(_put("last-sequence-number", value=1), "and the last is 1", versions=(2,)),
    "sequence number in format 1": Mutation(
        _put("snapshots", "?", "sequence-number", value=3), "and the last is 0", versions=(1,)
    ),
    "earlier than its parent": Mutation(_earlier_than_parent, "earlier sequence number", java=False, versions=(2,)),
    "circle": Mutation(_circle, "is its own ancestor", java=False, versions=(1,)),
    "tag of no snapshot": Mutation(_put("refs", "kept", "snapshot-id", value=7), "kept refers to snapshot 7"),
    "main of no snapshot": Mutation(_put("refs", "main", "snapshot-id", value=7), "main refers to snapshot 7"),
    "main that is a tag": Mutation(_put("refs", "main", "type", value="tag"), "main is a tag", java=False),
    "current of no snapshot": Mutation(_put("current-snapshot-id", value=7), "the current snapshot 7 is not in it"),
    "current is not main": Mutation(_put("current-snapshot-id", value=11), "and the current snapshot is 11"),
    "current gone": Mutation(_without("current-snapshot-id"), "and the current snapshot is None"),
    "no snapshots": Mutation(_without("snapshots"), "refers to snapshot"),
    "snapshots run backwards": Mutation(_backwards("snapshot-log"), "snapshot-log run backwards"),
    "documents run backwards": Mutation(_backwards("metadata-log"), "metadata-log run backwards"),
    "written before its snapshots": Mutation(_put("last-updated-ms", value=BEGINNING), "snapshot-log run backwards"),
    "time in words": Mutation(_as_text("last-updated-ms"), "`last-updated-ms` is '1"),
    "time of a log in words": Mutation(_as_text("snapshot-log", "?", "timestamp-ms"), "timestamp-ms` is '1"),
    "time of a snapshot in words": Mutation(_as_text("snapshots", "?", "timestamp-ms"), "timestamp-ms` is '1"),
    "schema id in words": Mutation(_as_text("current-schema-id"), "`current-schema-id` is '4'"),
    "half a time": Mutation(_put("last-updated-ms", value=BEGINNING + 0.5), "and has to be an integer"),
    "id beyond 64 bits": Mutation(_put("refs", "kept", "snapshot-id", value=2**63), "and has to be an integer of 64"),
    "column id beyond 32 bits": Mutation(_put("last-column-id", value=2**31), "and has to be an integer of 32"),
    "number in a summary": Mutation(_put("snapshots", "?", "summary", "total-records", value=5), "object of texts"),
    "nothing in a summary": Mutation(_put("snapshots", "?", "summary", "x", value=None), "object of texts"),
    "number in a property": Mutation(_put("properties", "x", value=5), "`properties` is a dict"),
    "required in words": Mutation(_put("schemas", "?", "fields", 0, "required", value="true"), "true or false"),
}


def _dropped_and_added_again(d: Json) -> None:
    """An old spec, and a place that format 1 keeps in the newest, are of a column whose name another one has now."""
    d["schemas"][-1]["fields"].append({"id": 12, "name": "name", "required": False, "type": "string"})
    d["last-column-id"] = 12
    d["partition-specs"][-1]["fields"].append({"name": "name", "transform": "void", "source-id": 2, "field-id": 1000})


def spared(seed: int, version: int) -> Json:
    """A document with all that Java reads, though it looks like a contradiction."""
    chance, whole = random.Random(seed), document(seed, version)
    allowed: list[Callable[[Json], object]] = [
        lambda d: d.get("refs", {}).pop("main", None),  # the current snapshot is main
        lambda d: d.pop("refs", None),
        lambda d: d.update({"last-updated-ms": d["snapshots"][-1]["timestamp-ms"] - 30_000, "metadata-log": []}),
        lambda d: d["snapshots"][-1].update({"schema-id": 77}),  # cleaned up since
        lambda d: d["schemas"][-1].update({"identifier-field-ids": [1]}),
        lambda d: d["snapshots"][0].pop("summary"),
        lambda d: d.update({"statistics": [], "partition-statistics": []}),
        _dropped_and_added_again,
        lambda d: d.update({"what-comes-later": {"x": [1]}}),
        lambda d: d["snapshot-log"].clear(),
        lambda d: d["properties"].update({"write.metadata.previous-versions-max": "many"}),
    ]
    for edit in chance.sample(allowed, 6):
        edit(whole)
    whole["snapshots"].reverse()
    return whole
