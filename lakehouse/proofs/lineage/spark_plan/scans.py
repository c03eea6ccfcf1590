"""What a plan reads: tables of Iceberg catalogs with their snapshots, and whatever else rows come from."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lakehouse.engines.spark.catalog import LAKE
from lakehouse.iceberg.names import in_catalog, name_of
from lakehouse.proofs.lineage.spark_plan.ranges import range_end
from lakehouse.proofs.lineage.spark_plan.tree import Node

CATALOG = LAKE.rpartition(".")[2]
_SPARKS_OWN = "spark_catalog"
_PART = r"(?:`(?:[^`]|``)+`|[^\s.`]+)"
_RELATION = re.compile(r"RelationV2\[(?P<columns>.*?)\] (?P<rest>.*)", re.DOTALL)
_NAMED = re.compile(rf"(?P<name>{_PART}(?:\.{_PART})*)(?: VERSION AS OF '(?P<version>\d+)')?(?P<more>.*)", re.DOTALL)
_OLD_RELATION = re.compile(r"Relation (?P<name>[^\s\[]*)\[[^\]]*\] ?(?P<format>.*)", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*")
# What Iceberg takes at the end of a table's name: other states of the table, and tables about it.
_AT_SNAPSHOT = re.compile(r"snapshot_id_(\d+)")
_OTHER_STATE = re.compile(r"(?:branch|tag)_.+|at_timestamp_\d+")
_ABOUT = frozenset(
    {"all_data_files", "all_delete_files", "all_entries", "all_files", "all_manifests", "changes", "data_files"}
    | {"delete_files", "entries", "files", "history", "manifests", "metadata_log_entries", "partitions"}
    | {"position_deletes", "refs", "snapshots"}
)
# Operators without children whose rows come from the query itself, or from an operator seen elsewhere in the plan.
# Rows of a checkpoint, or of a frame made in Python, are a LogicalRDD: no plan says where those come from.
_NO_SOURCE = frozenset(
    {"LocalRelation", "LogicalRDD", "OneRowRelation", "Range", "CTERelationRef", "EmptyRelation", "UnionLoopRef"}
)


@dataclass(frozen=True)
class Scan:
    """One place of a plan where rows are read.

    Args:
        source: `namespace.table` of a table in the lake, `catalog:namespace.table` of one in another catalog; other
            sources by a name that a person understands.
        snapshot_id: which the plan names; None where it names none, such as for a branch or a table by name alone.
        rows: whether it reads the rows of a table of the lake, and not of something else or a table about it.
        columns: what it gives, as printed.
    """

    source: str
    snapshot_id: int | None = None
    rows: bool = False
    columns: str = ""


def scan_of(node: Node) -> Scan | None:
    """What an operator reads from outside the plan, or None."""
    if node.kind == "RelationV2":
        match = _RELATION.fullmatch(node.text)
        return _named(match["rest"], match["columns"]) if match else Scan("unknown (RelationV2)")
    if node.kind == "Relation":
        return _old_relation(node.text)
    if node.children or node.subqueries or node.kind in _NO_SOURCE:
        return None
    return Scan(f"unknown ({node.kind})")


def scanned(plan: Node) -> Mapping[str, int | None]:
    """Source → its one snapshot; None where the analysed plan names none, or several."""
    snapshot_ids: dict[str, set[int | None]] = {}
    for scan in _scans(plan):
        snapshot_ids.setdefault(scan.source, set()).add(scan.snapshot_id)
    return {source: ids.pop() if len(ids) == 1 else None for source, ids in sorted(snapshot_ids.items())}


def _scans(node: Node, end: int | None = None) -> Iterator[Scan]:
    """What is read at an operator and below it; `end` is that of the range which a mark right above tells."""
    scan = scan_of(node)
    if scan is not None:
        yield replace(scan, snapshot_id=scan.snapshot_id or end) if scan.rows else scan
    end = end if node.kind == "SubqueryAlias" else range_end(node)
    for child in (*node.subqueries, *node.children):
        yield from _scans(child, end)


def _named(rest: str, columns: str) -> Scan:
    match = _NAMED.fullmatch(rest)
    if match is None:
        return Scan("unknown (RelationV2)")
    parts = [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in re.findall(_PART, match["name"])]
    if parts[0] == _SPARKS_OWN or len(parts) < 3:
        return Scan(name_of(parts))
    catalog = "" if parts[0] == CATALOG else parts[0]
    version = int(match["version"]) if match["version"] else None
    *table, last = parts[1:]
    of_table = len(table) >= 2  # else `last` is the table's own name
    if of_table and last in _ABOUT:
        return Scan(in_catalog(catalog, name_of(table)))
    snapshot_match = _AT_SNAPSHOT.fullmatch(last) if of_table else None
    if snapshot_match is not None or (of_table and _OTHER_STATE.fullmatch(last)):
        snapshot_id = int(snapshot_match[1]) if snapshot_match else None
        return Scan(in_catalog(catalog, name_of(table)), snapshot_id, rows=True, columns=columns)
    return Scan(in_catalog(catalog, name_of(parts[1:])), version, rows=True, columns=columns)


def _old_relation(text: str) -> Scan:
    """Files, JDBC and tables of Spark's own catalog. A query that JDBC sends is not shown: it may hold values."""
    match = _OLD_RELATION.match(text)
    if match is None:
        return Scan("unknown (Relation)")
    if match["name"]:
        return Scan(match["name"])
    kind, _, inside = match["format"].partition("(")
    if kind == "JDBCRelation":
        name = inside.partition(")")[0]
        return Scan(f"jdbc ({name if _IDENTIFIER.fullmatch(name) else 'a query'})")
    return Scan(f"files ({kind.split()[0]})" if kind.split() else "unknown (Relation)")
