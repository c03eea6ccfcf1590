"""What a step has to say, carried by one snapshot without files on top of its data.

Flat string keys under `lakehouse.` in the snapshot summary. Each seal holds its own digest and that of the seal before
it, so an edited, removed or reordered seal is recognised without any other record.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import cast

import msgspec

from lakehouse import seal_keys
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.attempt import Attempt

MAINTENANCE = "maintenance"
_VERSION = "1"


@dataclass(frozen=True)
class Seal:
    """One step's statement about one table.

    Args:
        kind: what the step did, for example `ingest`, `refused`, `loss`, `adopt`, `maintenance`, `write`.
        attempt: id of the attempt; every snapshot it staged carries the same.
        inputs: table name → snapshot id that the step read.
        statement: what the step says beyond this, flat keys without the prefix, for example `kafka.end`.
        previous: digest of the seal before this one in the table, empty for the first.
    """

    kind: str
    run_id: str
    step: str
    attempt: str
    root_run_id: str = ""
    runtime_date: str = ""
    code_version: str = ""
    parameters_digest: str = ""
    inputs: Mapping[str, int] = field(default_factory=dict[str, int])
    statement: Mapping[str, str] = field(default_factory=dict[str, str])
    previous: str = ""

    @classmethod
    def of(
        cls,
        attempt: Attempt,
        kind: str,
        *,
        statement: Mapping[str, str],
        previous: "Seal | None",
        inputs: Mapping[str, int] | None = None,
    ) -> "Seal":
        """Make the seal of an attempt."""
        return cls(
            kind=kind,
            run_id=attempt.run_id,
            step=attempt.step,
            attempt=attempt.id,
            root_run_id=attempt.root_run_id or attempt.run_id,
            runtime_date=attempt.runtime_date,
            code_version=attempt.code_version,
            parameters_digest=attempt.parameters_digest,
            inputs=dict(inputs or {}),
            statement=dict(statement),
            previous=previous.digest if previous else "",
        )

    @classmethod
    def repeated(
        cls, previous: "Seal", attempt: Attempt, *, claimed: Collection[int] = (), proven: Collection[int] = ()
    ) -> "Seal":
        """The seal of an attempt that only maintains the table: it says again what the seal before it says.

        Date, parameters, code and inputs too, since they are the content's and not the run's that rearranged it: when
        the step's own seal has expired, this one answers for it.

        Args:
            previous: the seal before.
            attempt: who maintains.
            claimed: snapshots below that are the attempt's own and bear no mark of it.
            proven: rewrites from outside that hold the same rows as what was before them.
        """
        lists = {seal_keys.REWRITE_CLAIMED: claimed, seal_keys.FOREIGN_PROVEN: proven}
        statement = {key: text for key, text in previous.statement.items() if key not in lists}
        statement |= {key: msgspec.json.encode(sorted(ids)).decode() for key, ids in lists.items() if ids}
        return replace(
            previous,
            kind=MAINTENANCE,
            run_id=attempt.run_id,
            root_run_id=attempt.root_run_id or attempt.run_id,
            step=attempt.step,
            attempt=attempt.id,
            previous=previous.digest,
            statement=statement,
        )

    @property
    def digest(self) -> str:
        """SHA-256 over all keys in sorted order."""
        return _digest(self._body())

    def _body(self) -> dict[str, str]:
        values = {
            seal_keys.PREFIX + f.name: cast("str", getattr(self, f.name))
            for f in fields(self)
            if f.name not in ("inputs", "statement")
        }
        return {
            seal_keys.VERSION: _VERSION,
            **values,
            seal_keys.INPUTS: msgspec.json.encode(dict(sorted(self.inputs.items()))).decode(),
            **{seal_keys.PREFIX + key: value for key, value in self.statement.items()},
        }

    def to_summary(self) -> dict[str, str]:
        """The summary keys, digest included."""
        body = self._body()
        return {**body, seal_keys.DIGEST: _digest(body)}

    @classmethod
    def from_summary(cls, summary: Mapping[str, str], *, where: str) -> "Seal | None":
        """Read a seal back, or None where the snapshot carries none.

        Raises:
            SealBroken: the keys do not match the digest they carry, or are not those of a seal.
        """
        if seal_keys.VERSION not in summary:
            return None
        body = {
            key: value for key, value in summary.items() if key.startswith(seal_keys.PREFIX) and key != seal_keys.DIGEST
        }
        if _digest(body) != summary.get(seal_keys.DIGEST):
            raise SealBroken(
                f"{where}: the seal was changed after it was written (its digest does not match).",
                remedy="roll the table back to the snapshot before it, or restore the metadata from a backup",
            )
        names = {f.name for f in fields(cls)} - {"inputs", "statement"}
        try:
            return cls(
                **{name: body.pop(seal_keys.PREFIX + name) for name in names},  # pyright: ignore[reportArgumentType]
                inputs=msgspec.json.decode(body.pop(seal_keys.INPUTS), type=dict[str, int]),
                statement={
                    key.removeprefix(seal_keys.PREFIX): value for key, value in body.items() if key != seal_keys.VERSION
                },
            )
        except (KeyError, msgspec.MsgspecError) as error:
            raise SealBroken(
                f"{where}: the seal cannot be read ({type(error).__name__}: {error}), though its digest matches.",
                remedy="roll the table back to the snapshot before it, or restore the metadata from a backup",
            ) from error


def _digest(body: Mapping[str, str]) -> str:
    return hashlib.sha256(msgspec.json.encode(dict(sorted(body.items())))).hexdigest()
