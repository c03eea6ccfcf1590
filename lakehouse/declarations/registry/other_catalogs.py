"""Tables of other catalogs: declarations may read them, and the settings say which catalogs there are."""

from collections.abc import Collection

from lakehouse.declarations.registry.broken import Contradiction
from lakehouse.declarations.registry.declarations import Declarations
from lakehouse.iceberg.names import is_elsewhere, split_catalog


def inputs_elsewhere(declarations: Declarations) -> list[str]:
    """The tables of other catalogs that derived tables are computed from, `catalog:namespace.table`, each once."""
    names = {name for derived in declarations.derived.values() for name in derived.inputs.values()}
    return sorted(filter(is_elsewhere, names))


def check_catalogs(declarations: Declarations, catalogs: Collection[str]) -> None:
    """Refuse an input of a catalog that the settings do not name.

    Args:
        declarations: all of them.
        catalogs: names of the other catalogs.

    Raises:
        Contradiction: names the derived table, its file, the input and the catalogs that there are.
    """
    known = ", ".join(sorted(catalogs)) or "(none yet)"
    for derived in declarations.derived.values():
        for name in filter(is_elsewhere, derived.inputs.values()):
            if (catalog := split_catalog(name)[0]) not in catalogs:
                raise Contradiction(
                    f"{declarations.files[derived.name]}: {derived.name} is computed from {name}, and there is no "
                    f"other catalog {catalog!r}.",
                    remedy=f"add it to other_catalogs of conf/lakehouse.yaml, or use one of {known}.",
                    tables=[derived.name],
                )
