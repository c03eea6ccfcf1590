"""Carries out a plan. Several may try at once; each ends with the table as declared."""

from functools import singledispatch

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table import Transaction
from pyiceberg.table.sorting import SortDirection
from pyiceberg.table.update import SetDefaultSortOrderUpdate, UpdatesAndRequirements
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.table.update.sorting import UpdateSortOrder
from pyiceberg.types import PrimitiveType
from typing_extensions import override

from lakehouse.declarations.columns.schemas import iceberg_schema, identifier_columns
from lakehouse.declarations.schema_changes.changes import (
    AddColumn,
    Change,
    ColumnChange,
    DocumentColumn,
    IdentifyRows,
    RelaxColumn,
    Repartition,
    Resort,
    SetProperty,
    UnsetProperty,
    UpgradeFormat,
    WidenColumn,
)
from lakehouse.declarations.schema_changes.plan import TablePlan, diff
from lakehouse.declarations.storage.layout import partition_spec, sort_order
from lakehouse.declarations.storage.properties import FORMAT_VERSION, table_properties
from lakehouse.declarations.table import Table
from lakehouse.retry import OTHERS_FIRST, pause

_TRIES = 10


def plan(table: Table, catalog: Catalog, *, adopting: bool = False) -> TablePlan:
    """Load a table, if it exists, and compare it with its declaration; `adopting` as in `diff`.

    Raises:
        WouldLoseData: see `diff`.
    """
    try:
        return diff(table, catalog.load_table(table.identifier), adopting=adopting)
    except NoSuchTableError:
        return diff(table, None, adopting=adopting)


def apply(planned: TablePlan, catalog: Catalog) -> IcebergTable:
    """Make the changes in one commit, and return the table as it is then.

    Another may have changed the table since it was planned: then what is still missing is planned again.

    Raises:
        WouldLoseData: the table became something meanwhile that the declaration cannot be reached from.
        CommitFailedException: other commits came first, again and again.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return _carry_out(planned, catalog)
        except (TableAlreadyExistsError, CommitFailedException, CommitStateUnknownException, NoSuchTableError):
            if tries_left == 0:
                raise
        except RESTError:
            # PyIceberg has no error of its own for a commit to a table that somebody dropped.
            if tries_left == 0 or planned.base is None or catalog.table_exists(planned.identifier):
                raise
        pause(2 * OTHERS_FIRST)
        planned = plan(planned.table, catalog, adopting=planned.adopting)
    raise AssertionError("unreachable")


def _carry_out(planned: TablePlan, catalog: Catalog) -> IcebergTable:
    if planned.base is None:
        return _create(planned.table, catalog)
    if planned.changes:
        with planned.base.transaction() as transaction:
            _change(transaction, planned.changes)
        return catalog.load_table(planned.identifier)
    return planned.base


def _create(table: Table, catalog: Catalog) -> IcebergTable:
    namespace = table.identifier[0]
    if not catalog.namespace_exists(namespace):  # whoever may make tables need not be one who may make namespaces
        catalog.create_namespace_if_not_exists(namespace)
    return catalog.create_table(
        table.identifier,
        schema=iceberg_schema(table, identifier_columns(table)),
        partition_spec=partition_spec(table),
        sort_order=sort_order(table),
        properties={"format-version": FORMAT_VERSION, **table_properties(table)},
    )


def _change(transaction: Transaction, changes: tuple[Change, ...]) -> None:
    # Format before columns, columns before the layout that may be built on them.
    if any(isinstance(change, UpgradeFormat) for change in changes):
        transaction.upgrade_table_version(int(FORMAT_VERSION))  # pyright: ignore[reportArgumentType]
    columns = [change for change in changes if isinstance(change, ColumnChange | IdentifyRows)]
    if columns:
        with transaction.update_schema() as schema:
            for change in columns:
                _change_column(change, schema)
    for change in changes:
        if isinstance(change, Repartition):
            _repartition(transaction, change)
        elif isinstance(change, Resort):
            _resort(transaction, change)
    properties = {change.key: change.after for change in changes if isinstance(change, SetProperty)}
    if properties:
        transaction.set_properties(properties)
    if unset := [change.key for change in changes if isinstance(change, UnsetProperty)]:
        transaction.remove_properties(*unset)


@singledispatch
def _change_column(change: ColumnChange | IdentifyRows, _: UpdateSchema) -> None:
    raise NotImplementedError(change)


@_change_column.register
def _(change: AddColumn, schema: UpdateSchema) -> None:
    schema.add_column(change.path, change.type, doc=change.doc)
    if change.after is None:
        schema.move_first(change.path)
    else:
        schema.move_after(change.path, change.after)


@_change_column.register
def _(change: WidenColumn, schema: UpdateSchema) -> None:
    assert isinstance(change.after, PrimitiveType)
    schema.update_column(change.path, field_type=change.after)


@_change_column.register
def _(change: RelaxColumn, schema: UpdateSchema) -> None:
    schema.make_column_optional(change.path)


@_change_column.register
def _(change: DocumentColumn, schema: UpdateSchema) -> None:
    schema.update_column(change.path, doc=change.doc)


@_change_column.register
def _(change: IdentifyRows, schema: UpdateSchema) -> None:
    schema.set_identifier_fields(*change.after)


class _UpdateSortOrder(UpdateSortOrder):
    """Can also return to no order: its id is 0, and PyIceberg would then make the highest id the default."""

    @override
    def _commit(self) -> UpdatesAndRequirements:
        updates, requirements = super()._commit()
        default = SetDefaultSortOrderUpdate(sort_order_id=self._apply().order_id)  # pyright: ignore[reportCallIssue]
        return (*updates[:-1], default), requirements


def _repartition(transaction: Transaction, change: Repartition) -> None:
    with transaction.update_spec() as spec:
        for name in change.remove:
            spec.remove_field(name)
        for term in change.add:
            spec.add_field(term.source, term.transform, term.field_name)


def _resort(transaction: Transaction, change: Resort) -> None:
    with _UpdateSortOrder(transaction) as order:
        for sort in change.terms:
            add = order.asc if sort.direction is SortDirection.ASC else order.desc
            add(sort.term.source, sort.term.transform, sort.nulls)
