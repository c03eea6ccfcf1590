"""The lake as `run` and `dev` need it before anything runs: every declared table there, on a catalog that is safe."""

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import say
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.catalog import probe
from lakehouse.quantities import quantity


def make_tables(context: Context, lake: Lake) -> list[str]:
    """Create the declared tables that are missing, on a catalog that was tried first; returns their names.

    Raises:
        UnsafeCatalog: the write protocol is not safe on this catalog.
        DeclarationAhead: a table differs from its declaration.
    """
    with context.err.status("looking at the catalog"):
        created = lake.ensure(sorted(lake.declarations.tables))
        if created:
            probe(lake.catalog, identifier_of(created[0])[0])
    say(context, f"{quantity(len(lake.declarations.tables), 'table')} declared, {len(created)} created")
    return created
