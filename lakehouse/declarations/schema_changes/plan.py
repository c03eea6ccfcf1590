"""The difference between a declaration and its table, as a plan that a person can read before it is carried out."""

from dataclasses import dataclass

from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import VoidTransform

from lakehouse.declarations.columns.schemas import iceberg_schema, identifier_columns
from lakehouse.declarations.policies.maintenance import KEEP_SNAPSHOTS
from lakehouse.declarations.schema_changes.adopted_coordinates import with_optional_coordinates
from lakehouse.declarations.schema_changes.changes import (
    Change,
    CreateTable,
    IdentifyRows,
    RelaxColumn,
    Repartition,
    Resort,
    SetProperty,
    UnsetProperty,
    UpgradeFormat,
)
from lakehouse.declarations.schema_changes.evolution import Problem, compare
from lakehouse.declarations.schema_changes.evolved import with_stored_columns
from lakehouse.declarations.schema_changes.mirror_changes import mirror_problems
from lakehouse.declarations.storage.layout import Term, partition_terms, sort_terms
from lakehouse.declarations.storage.properties import FORMAT_VERSION, table_properties
from lakehouse.declarations.table import Table
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.format_version import DOWNGRADE, unwritable_version
from lakehouse.iceberg.own_files import DELETE_OLD_METADATA, is_outside_warehouse


class WouldLoseData(LakehouseError):
    """The declaration asks for something that a table with data cannot become without losing some of it.

    Attributes:
        table: the table's name.
        problems: every reason, each with its remedy.
    """

    def __init__(self, table: str, problems: tuple[Problem, ...]) -> None:
        self.table = table
        self.problems = problems
        message = "; ".join(f"{problem.message} (remedy: {problem.remedy.rstrip('.')})" for problem in problems)
        super().__init__(f"{table}: {message}.")


@dataclass(frozen=True)
class TablePlan:
    """What has to happen so that a table is as declared.

    Attributes:
        table: the declaration.
        base: the table as it was loaded, or None if it does not exist.
        changes: in the order in which they are made; together in one commit.
        adopting: whether a person takes the table over from another writer.
    """

    table: Table
    base: IcebergTable | None
    changes: tuple[Change, ...]
    adopting: bool = False

    @property
    def identifier(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.table.identifier

    def __bool__(self) -> bool:
        """Say whether there is anything to do."""
        return bool(self.changes)


def diff(table: Table, stored: IcebergTable | None, *, adopting: bool = False) -> TablePlan:
    """Compare a declaration with its table.

    Args:
        table: the declaration, with coordinates if a stream writes it.
        stored: the table, or None if it does not exist.
        adopting: whether a person takes the table over from another writer: it then gets the Kafka coordinates.

    Raises:
        WouldLoseData: the table cannot become what is declared; names every column and remedy.
    """
    if stored is None:
        return TablePlan(table, None, (CreateTable(len(iceberg_schema(table).fields)),), adopting)
    metadata = stored.metadata
    table = with_stored_columns(table, metadata.schema(), metadata.properties)
    schema = iceberg_schema(table)
    if reason := unwritable_version(metadata.format_version):
        raise WouldLoseData(table.name, (Problem(reason, DOWNGRADE),))
    if table.coordinates:
        schema = with_optional_coordinates(schema, metadata.schema(), adopting=adopting)
    differences = compare(schema, metadata.schema())
    if differences.problems:
        # What is to be done for a table in general would break a mirror.
        problems = mirror_problems(table, metadata.schema()) or differences.problems
        raise WouldLoseData(table.name, tuple(problems))
    changes: list[Change] = []
    if metadata.format_version < int(FORMAT_VERSION):
        changes.append(UpgradeFormat())
    changes.extend(differences.changes)
    changes.extend(_identify(table, metadata, changes))
    changes.extend(_repartition(table, metadata))
    changes.extend(_resort(table, metadata))
    changes.extend(_properties(table, stored))
    return TablePlan(table, stored, tuple(changes), adopting)


def _identify(table: Table, metadata: TableMetadata, changes: list[Change]) -> list[Change]:
    """The key as identifier fields. Those of a table without a key are somebody's, and only lose what may be null."""
    stored = tuple(sorted(metadata.schema().identifier_field_names()))
    relaxed = {".".join(change.path) for change in changes if isinstance(change, RelaxColumn)}
    declared = identifier_columns(table) if table.key else tuple(name for name in stored if name not in relaxed)
    return [IdentifyRows(stored, declared)] if sorted(declared) != list(stored) else []


def _repartition(table: Table, metadata: TableMetadata) -> list[Change]:
    # By column and transform: how a field is called, and in which order they come, matters to nobody.
    stored = {
        Term(metadata.schema().find_column_name(field.source_id) or "", field.transform): field.name
        for field in metadata.spec().fields
        if not isinstance(field.transform, VoidTransform)
    }
    declared = partition_terms(table)
    remove = tuple(name for term, name in stored.items() if term not in declared)
    add = tuple(term for term in declared if term not in stored)
    return [Repartition(remove, add)] if remove or add else []


def _resort(table: Table, metadata: TableMetadata) -> list[Change]:
    schema = metadata.schema()
    order = metadata.sort_order_by_id(metadata.default_sort_order_id)
    stored = [
        (schema.find_column_name(field.source_id), str(field.transform), field.direction, field.null_order)
        for field in (order.fields if order else ())
    ]
    terms = sort_terms(table)
    declared = [(term.term.source, str(term.term.transform), term.direction, term.nulls) for term in terms]
    return [Resort(terms)] if declared != stored else []


def _properties(table: Table, stored: IcebergTable) -> list[Change]:
    declared = table_properties(table)
    if is_outside_warehouse(stored.catalog, stored.metadata_location):
        declared[DELETE_OLD_METADATA] = "false"  # as the catalog commits it; another lakehouse may need them
    changes: list[Change] = [
        SetProperty(key, stored.properties.get(key), value)
        for key, value in declared.items()
        if stored.properties.get(key) != value
    ]
    count = stored.properties.get(KEEP_SNAPSHOTS)
    if count is not None and KEEP_SNAPSHOTS not in declared and table.maintenance.expire is not None:
        changes.append(UnsetProperty(KEEP_SNAPSHOTS, count))  # it would go on to cut below the declared age
    return changes
