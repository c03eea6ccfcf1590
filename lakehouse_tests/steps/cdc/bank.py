"""pgbench's tables in the lakehouse: their changelogs and mirrors, and the comparison with the source, row by row.

Accounts have further columns, of types whose values a message can write in several ways. History has no primary key, so
it has a changelog and no mirror.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Changelog, Mirror
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.cdc.verify.audit import MirrorProof, audit_mirror
from lakehouse.steps.ingest.repair.acceptable_records import find_reprocess
from lakehouse.steps.ingest.repair.reprocess import reprocess
from lakehouse_tests.steps.cdc.pgbench import KEYS, Pgbench
from lakehouse_tests.steps.cdc.shop import Shop

DECLARED = """
from lakehouse_tests.steps.cdc.bank import history_log, mirror_of

accounts = mirror_of("accounts", prefix={prefix!r}, altered={extra!r})
branches = mirror_of("branches", prefix={prefix!r}, altered={extra!r})
tellers = mirror_of("tellers", prefix={prefix!r}, altered={extra!r})
history = history_log(prefix={prefix!r})
"""


def mirror_of(name: str, *, prefix: str, altered: bool) -> Mirror:
    """A mirror of a table, declared as it was at first, or as it was altered later."""
    log = _changelog(name, _columns(name, altered=altered), (KEYS[name],), prefix)
    return Mirror(name=f"mirror.{name}", changelog=log, partitioning=(f"bucket(2, {KEYS[name]})",))


def history_log(*, prefix: str) -> Changelog:
    """The changelog of the table without a key."""
    columns = dict.fromkeys(("tid", "bid", "aid", "delta"), T.IntegerType())
    return _changelog("history", {**columns, "mtime": T.TimestampNTZType(), "filler": T.StringType()}, (), prefix)


def _columns(name: str, *, altered: bool) -> Mapping[str, T.DataType]:
    whole, text = T.IntegerType(), T.StringType()
    if name == "branches":  # its balance becomes a bigint, and stays small enough
        return {"bid": whole, "bbalance": whole, "filler": text}
    if name == "tellers":
        added = {"note": text, "ranking": T.LongType(), "grade": whole} if altered else {}
        return {"tid": whole, "bid": whole, "tbalance": whole, "filler": text, **added}
    wide = T.LongType() if altered else whole
    return {
        "aid": wide,
        "bid": whole,
        "abalance": wide,
        "filler": text,
        "rate": T.DecimalType(14, 4),  # the source begins with numeric(12,2), and no scale of Iceberg's ever changes
        "free": T.DecimalType(38, 10),
        "ratio": T.DoubleType(),
        "seen": T.TimestampNTZType(),
        "seen_zone": T.TimestampType(),
    }


def _changelog(name: str, columns: Mapping[str, T.DataType], key: tuple[str, ...], prefix: str) -> Changelog:
    row = {column: pandera.Column(kind, nullable=column not in key) for column, kind in columns.items()}
    return Changelog(
        name=f"changelog.{name}",
        topic=f"{prefix}.{prefix}.pgbench_{name}",
        row=pandera.DataFrameSchema(row),
        key=key,
        description=f"pgbench's {name}.",
        owner="tests",
        max_quarantine_share=0.5,  # an account that has no good value is refused at each of its transactions
    )


class Bank(Shop):
    """pgbench's tables as they are declared, runs of them, and what differs from the source."""

    template = DECLARED

    def differing(self, source: Pgbench, name: str) -> dict[int, str]:
        """Key → what differs between the source's row and the mirror's; every value of every row is compared."""
        key, columns = KEYS[name], self._declared(name)
        mirrored = _by_key(self.load(f"mirror.{name}"), key)
        wanted = _by_key(source.rows(name, columns), key)
        different: dict[int, str] = {}
        for number in mirrored.keys() | wanted.keys():
            if number not in mirrored or number not in wanted:
                different[number] = "missing" if number in wanted else "too much"
                continue
            row, truth = mirrored[number], wanted[number]
            if stale := [column for column in columns if not _same(row[column], truth[column])]:
                different[number] = ", ".join(f"{c} {row[c]} for {truth[c]}" for c in stale)
        return different

    def history(self) -> Counter[tuple[Any, ...]]:
        """Rows of the table without a key, as its changelog has them: what came, less what went."""
        changes = [row for row in self.load("changelog.history") if row["operation"] != "tombstone"]
        # A connector that begins again sends again what it had not noted as sent: the same change, of the same place.
        once = {(row["position"]["sequence"], _content(row)): row for row in changes if row["operation"] != "read"}
        logged = [once[place] for place in sorted(once)]
        rows: Counter[tuple[Any, ...]] = Counter()
        for change in (*(row for row in changes if row["operation"] == "read"), *logged):
            if change["operation"] == "truncate":
                rows.clear()
            for image, count in (("before", -1), ("after", 1)):
                if change[image] is not None:
                    rows[tuple(change[image].values())] += count
        return +rows

    def history_at_source(self, source: Pgbench) -> Counter[tuple[Any, ...]]:
        """What it should be."""
        return Counter(tuple(row.values()) for row in source.rows("history", self._declared("history")))

    def proof(self, name: str) -> MirrorProof:
        """What `lakehouse audit` shows of a mirror."""
        return audit_mirror(self.catalog, self.declarations.mirrors[f"mirror.{name}"], self.declarations)

    def in_doubt(self, name: str, proof: MirrorProof) -> dict[int, str]:
        """Key → what `doubtful_keys` says of it; a key that it cannot read is taken from the refused message."""
        doubtful: dict[int, str] = {}
        for example in proof.doubt.examples:
            key, _, place = example.partition(": ")
            number = int(key.partition("=")[2]) if key.startswith(KEYS[name]) else self._refused_key(name, place)
            doubtful.setdefault(number, example)
        assert len(doubtful) == proof.doubt.count, (doubtful, proof.doubt)
        return doubtful

    def reprocess(self, name: str) -> int:
        """`lakehouse reprocess`, of all that the stream of a table has refused; how many changes it took."""
        stream = self.declarations.streams[self.declarations.changelogs[f"changelog.{name}"].stream_name]
        step = self.ingest_step(stream, "reprocess")
        bases = read_bases(self.catalog, step.tables)
        acceptable = find_reprocess(step, bases)
        reprocess(step, bases, acceptable)
        return acceptable.count

    def _declared(self, name: str) -> list[str]:
        return [column.name for column in self.declarations.changelogs[f"changelog.{name}"].columns]

    def _refused_key(self, name: str, place: str) -> int:
        partition, offset = (int(word) for word in place.split() if word.isdecimal())
        stream = self.declarations.changelogs[f"changelog.{name}"].stream_name
        for row in self.load(f"quarantine.{stream}"):
            if (row["_kafka_partition"], row["_kafka_offset"]) == (partition, offset):
                return cast("int", json.loads(row["key"])["payload"][KEYS[name]])
        raise AssertionError(f"{place}: not in the quarantine")


def _by_key(rows: list[dict[str, Any]], key: str) -> dict[int, dict[str, Any]]:
    by_key = {row[key]: row for row in rows}
    assert len(by_key) == len(rows), f"a {key} is there twice"
    return by_key


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, float) and isinstance(wanted, float):  # NaN is itself, and zero has a sign
        return repr(value) == repr(wanted)
    return bool(value == wanted)


def _content(change: Mapping[str, Any]) -> str:
    return json.dumps([change["operation"], change["before"], change["after"]], default=str)
