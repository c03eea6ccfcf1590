"""Which derived tables belong together, and what they are computed from."""

from collections.abc import Iterable, Mapping

from lakehouse.declarations import Derived
from lakehouse.declarations.registry.derived_rules import order


def component_of(name: str, derived: Mapping[str, Derived]) -> list[str]:
    """The derived tables that share an input with a derived table, directly or through others, each after its inputs.

    They are computed together: of two tables with a common input, one that is computed later alone has seen another
    version of it, and nobody may join the two.
    """
    component, touched = {name}, {name, *derived[name].inputs.values()}
    while more := {
        other
        for other, table in derived.items()
        if other not in component and touched & {other, *table.inputs.values()}
    }:
        component |= more
        touched |= {name for other in more for name in (other, *derived[other].inputs.values())}
    return [member for member in order(derived) if member in component]


def external_inputs(names: Iterable[str], derived: Mapping[str, Derived]) -> list[str]:
    """Inputs of derived tables that no derivation writes, each once."""
    return list(
        dict.fromkeys(given for name in names for given in derived[name].inputs.values() if given not in derived)
    )


def upstream_of(name: str, derived: Mapping[str, Derived]) -> list[str]:
    """A derived table and the derived tables that it is computed from, however far up, each after its inputs."""
    upstream, waiting = {name}, [name]
    while waiting:
        new = {given for given in derived[waiting.pop()].inputs.values() if given in derived} - upstream
        upstream |= new
        waiting += new
    return [member for member in order(derived) if member in upstream]
