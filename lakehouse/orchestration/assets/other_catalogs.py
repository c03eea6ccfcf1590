"""Tables of other catalogs as external assets: Dagster makes none of them, and shows what is computed from them."""

import re
from collections.abc import Mapping

from dagster import AssetSpec

from lakehouse.declarations import Declarations
from lakehouse.declarations.registry.other_catalogs import inputs_elsewhere
from lakehouse.iceberg.names import split_catalog
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.settings import CatalogSettings


def specs_elsewhere(
    declarations: Declarations, catalogs: Mapping[str, CatalogSettings], names: DagsterNames = DEFAULT_NAMES
) -> list[AssetSpec]:
    """One asset for each table that a derived table reads from another catalog, in a group of that catalog.

    Args:
        declarations: with the derived tables.
        catalogs: the other catalogs, by name.
        names: how Dagster knows tables.
    """
    return [
        AssetSpec(
            names.key(name),
            description=f"Table {table} of catalog {catalog}, which others write. It is read, and never written to.",
            group_name=re.sub(r"\W", "_", catalog),
            kinds={"iceberg"},
            metadata={"catalog": catalog, "warehouse": catalogs[catalog].warehouse},
        )
        for name in inputs_elsewhere(declarations)
        for catalog, table in [split_catalog(name)]
        if catalog in catalogs
    ]
