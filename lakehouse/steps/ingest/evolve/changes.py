"""From what workers have seen to what is done about it: tables are changed, or stopped, and the range is read again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakehouse.declarations import Avro, Declarations, Stream, Table, WouldLoseData, apply, plan
from lakehouse.declarations.schema_changes.changes import AddColumn, RelaxColumn, WidenColumn
from lakehouse.formats.avro import parse_writer_schema
from lakehouse.formats.evolution.avro_fields import avro_fields
from lakehouse.formats.evolution.json_fields import json_fields
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.ingest.evolve.following import Following
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.routes.stopping import Stop, may_stop

MOST_ROUNDS = 20
"""So often a step reads its range again because tables follow its records."""


@dataclass(frozen=True)
class TableChanges:
    """What has to happen before anything is written.

    Attributes:
        tables: table → as it has to be.
        remarks: table → what a person should know.
        stopped: table → why it takes no record any more.
        unmade: table that records name, and that is to be made → records.
    """

    tables: Mapping[str, Table] = field(default_factory=dict[str, Table])
    remarks: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    stopped: Mapping[str, Stop] = field(default_factory=dict[str, Stop])
    unmade: Mapping[str, int] = field(default_factory=dict[str, int])

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.tables or self.stopped or self.unmade)


class TablesChange(Exception):  # no error: the step begins again
    """Tables have to change before the records that were read can be written."""

    def __init__(self, changes: TableChanges) -> None:
        super().__init__()
        self.changes = changes


def wanted_changes(stream: Stream, declarations: Declarations, landed: WriteResult) -> TableChanges:
    """What the policies of the tables want, in view of the records.

    Args:
        stream: with its format.
        declarations: with the tables as they are by now.
        landed: what the workers have seen.
    """
    tables: dict[str, Table] = {}
    remarks: dict[str, list[str]] = {}
    stopped: dict[str, Stop] = {}
    for name, wanted in sorted(landed.wanted.items()):
        table = declarations.tables[name]
        following = Following(table)
        if isinstance(stream.format, Avro):
            _follow_avro(following, wanted, stream.format, landed)
        else:
            _follow_json(following, wanted)
        if tuple(following.columns) != table.own_columns:
            tables[name], remarks[name] = following.wanted, following.remarks
        elif following.conflicts and may_stop(table):
            reasons = [f"`{path}` is {why}" for path, why in sorted(following.conflicts.items())]
            stopped[name] = Stop(
                f"{'; '.join(reasons)}. Change its declaration, and run `lakehouse reprocess`", until="declared"
            )
    return TableChanges(tables, remarks, stopped)


def carry_out(catalog: LakeCatalog, changes: TableChanges) -> dict[str, list[str]]:
    """Change the tables, each in one commit, whoever else does the same; what was done to each.

    Where another has made of a table what this change does not fit, nothing is done: the step looks again.
    """
    done: dict[str, list[str]] = {}
    for name, table in changes.tables.items():
        try:
            planned = plan(table, catalog)
            apply(planned, catalog)
        except WouldLoseData:
            continue
        lines = [str(c) for c in planned.changes if isinstance(c, AddColumn | WidenColumn | RelaxColumn)]
        done[name] = [*lines, *changes.remarks.get(name, [])]
    return done


def _follow_avro(following: Following, wanted: Wanted, form: Avro, landed: WriteResult) -> None:
    for schema in sorted(wanted.schemas):
        texts = landed.writers.get(schema) if schema else (form.text,) if form.text else None
        if texts is None:
            continue
        try:
            node = parse_writer_schema(*texts)
        except SchemaUnusable:
            continue  # its records are in quarantine, and say so
        following.follow(avro_fields(node), refused=schema in wanted.refused_schemas, adds=True)


def _follow_json(following: Following, wanted: Wanted) -> None:
    for seen, refused in ((wanted.accepted, False), (wanted.refused, True)):
        if seen.times:
            columns = {column.source_name: column.type for column in reversed(following.columns) if not column.record}
            # Of a record that is no row its fields are nobody's wish: it may be of quite another kind.
            fields = json_fields(seen, columns)
            following.follow(fields, refused=refused, adds=not refused)
