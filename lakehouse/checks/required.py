"""Which checks a release waits for: those of its members that block, and the proofs of streams and mirrors."""

from collections.abc import Iterable

import dagster as dg

from lakehouse.checks import exactly_once, mirror_fold
from lakehouse.tables import Release

# They block nothing in a run, so that what is computed from a stream need not wait for them. A release does.
PROOFS = frozenset({exactly_once.NAME, mirror_fold.NAME})


def required_checks(
    release: Release, definitions: Iterable[dg.AssetsDefinition | dg.AssetChecksDefinition]
) -> list[dg.AssetCheckKey]:
    """The checks that must have passed on what is released, in the order of the members.

    Args:
        release: as declared.
        definitions: everything that defines checks, users' own included.
    """
    specs = [spec for definition in definitions for spec in definition.check_specs]
    required = {spec.key for spec in specs if spec.blocking or spec.name in PROOFS}
    return [
        key for member in release.members for key in sorted(required) if key.asset_key == dg.AssetKey(member.split("."))
    ]
