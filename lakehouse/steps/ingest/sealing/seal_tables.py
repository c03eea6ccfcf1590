"""Seals every table of a step, also those that received nothing."""

from collections.abc import Mapping

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.proofs.audit.absence import joined_key
from lakehouse.protocol.commit import Staged, seal_branch
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.position import joining
from lakehouse.steps.ingest.routes.made_tables import sealed_tables


def seal_all(
    step: IngestStep,
    bases: Mapping[str, Base],
    statement: KafkaStatement,
    extra_keys: Mapping[str, Mapping[str, str]],
    *,
    kind: str = "ingest",
) -> list[Staged]:
    """Seal every table of the step, also those that received nothing; `extra_keys` are for one table each.

    A table that comes back to the stream says what it missed.
    """
    joined_keys = {name: joined_key(missed) for name, missed in joining(bases).items()}
    named = sealed_tables(step.stream)
    return [
        seal_branch(
            step.catalog,
            base,
            step.attempt,
            Seal.of(
                step.attempt,
                kind,
                statement={**statement.to_keys(), **joined_keys.get(name, {}), **named, **extra_keys.get(name, {})},
                previous=base.sealed.seal if base.sealed else None,
            ),
        )
        for name, base in bases.items()
    ]
