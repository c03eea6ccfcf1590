"""Which checks a release waits for: those of its members that block."""

from collections.abc import Iterable

import dagster as dg

from lakehouse.declarations import Release
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames


def required_checks(
    release: Release,
    definitions: Iterable[dg.AssetsDefinition | dg.AssetChecksDefinition],
    names: DagsterNames = DEFAULT_NAMES,
) -> list[dg.AssetCheckKey]:
    """The checks that must have passed on what is released, in the order of the members.

    Args:
        release: as declared.
        definitions: everything that defines checks, users' own included.
        names: how Dagster knows the members.
    """
    specs = [spec for definition in definitions for spec in definition.check_specs]
    required = {spec.key for spec in specs if spec.blocking}
    return [key for member in release.members for key in sorted(required) if key.asset_key == names.key(member)]
