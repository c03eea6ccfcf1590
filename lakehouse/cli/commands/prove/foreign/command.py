"""`lakehouse audit --foreign TABLE --topic T`: has somebody else's table each record of a topic once?"""

import typer
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakehouse.cli.commands.prove.foreign.options import ForeignOptions
from lakehouse.cli.commands.prove.foreign.show import show_foreign
from lakehouse.cli.context import Context, catalog_of, print_json
from lakehouse.cli.exit_codes import COULD_NOT_RUN, PROMISE_BROKEN
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.foreign import audit_foreign
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse.protocol.catalog import LakeCatalog

_EXITS = {"proven": 0, "disproved": PROMISE_BROKEN, "open": COULD_NOT_RUN}


def audit_of_others(context: Context, options: ForeignOptions, *, as_json: bool) -> None:
    """Judge the tables, print the verdict, and end with the exit code that it has.

    Raises:
        NoForeignTable: the catalog has no such table.
    """
    with context.err.status("reading tables and topic"):
        catalog = catalog_of(context)
        # Before the topic is asked: then it has all that the tables hold.
        tables = [_load(catalog, name) for name in dict.fromkeys(options.tables)]
        log = RecordLog.of(context.settings.kafka, options.topic, options.group)
        proof = audit_foreign(tables, log, options.question)
    if as_json:
        print_json(proof.as_json())
    else:
        show_foreign(context, proof)
    if exit_code := _EXITS[proof.verdict]:
        raise typer.Exit(exit_code)


class NoForeignTable(LakehouseError):
    """There is no such table."""


def _load(catalog: LakeCatalog, name: str) -> Table:
    try:
        return catalog.load_table(identifier_of(name))
    except NoSuchTableError as error:
        raise NoForeignTable(
            f"There is no table {name} in the catalog.",
            remedy="name it as namespace.table, or choose the settings of its catalog with --conf",
        ) from error
