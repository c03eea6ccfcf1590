"""Which parameters the rows of a user's own table were computed with: read by its asset, or used by what it read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from lakehouse import seal_keys
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import digest_of, value_digests
from lakehouse.steps.derived.used_parameters import UsedParameters


@dataclass(frozen=True)
class ParameterUse:
    """What a step has used when it writes.

    Args:
        parameters: of the run; they have noted which of them the asset has read.
        inputs: seals of the dated tables that it has read; None where nobody sealed one.
    """

    parameters: UsedParameters
    inputs: Sequence[Seal | None]

    def statement(self, attempt: Attempt, before: Seal | None) -> dict[str, str]:
        """Keys of the table's seal.

        Args:
            attempt: who writes.
            before: the newest statement about rows that stay beside those that are written.
        """
        computation = self.computation(attempt)
        if before is not None:
            computation = _beside(computation, computations_of(before)[-1])
        return {
            seal_keys.DERIVED_COMPUTED_BY: msgspec.json.encode([computation]).decode(),
            seal_keys.DERIVED_PARAMETERS: msgspec.json.encode(self.parameters.given, order="sorted").decode(),
        }

    def computation(self, attempt: Attempt) -> Computation:
        """How the rows were computed.

        Nobody can tell with which parameters where the run has a configuration of its own, where an input does not say
        which it has used, or where one had several values.
        """
        given = self.parameters.given
        used = {name: digest for name, digest in value_digests(given).items() if name in self.parameters.used}
        computation = Computation(attempt.runtime_date, attempt.parameters_digest, attempt.run_id, used=used)
        if attempt.parameters_digest != digest_of(given) or None in self.inputs:
            return replace(computation, used=None)
        for part in (part for seal in self.inputs for part in computations_of(seal)):
            computation = _beside(computation, part)
        return computation


def seals_of(catalog: LakeCatalog, snapshots: Mapping[str, int]) -> list[Seal | None]:
    """What the steps said that made some snapshots; None where nobody said anything."""
    return [made(catalog.load_table(identifier_of(name)), snapshot_id).seal for name, snapshot_id in snapshots.items()]


def _beside(computation: Computation, other: Computation) -> Computation:
    """With what another one has used as well, if that is known and agrees."""
    if computation.used is None or other.used is None or not computation.agrees_with(other):
        return replace(computation, used=None)
    return replace(computation, used=dict(sorted({**computation.used, **other.used}.items())))
