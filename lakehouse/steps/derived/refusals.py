"""Why a derived table was not computed. Nothing is written; running again without a change ends the same way."""

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import Parameters


def command(table: str, *flags: str, attempt: Attempt, parameters: Parameters) -> str:
    """What to type to compute a table for the date, and with the parameters, of a run that could not."""
    words = ["lakehouse", "derive", table, *flags, "--runtime-date", attempt.runtime_date]
    for name, value in parameters.items():
        words += ["--parameter", f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"]
    return shlex.join(words)


class DeriveRefused(LakehouseError):
    """A step of a derived table did not go ahead; no table shows any part of it."""


class InputMissing(DeriveRefused):
    """There is nothing to compute from."""

    def __init__(self, table: str, missing: Sequence[str], empty: Sequence[str]) -> None:
        reasons = [f"{name} does not exist" for name in missing]
        reasons += [f"{name} has never been written" for name in empty]
        super().__init__(
            f"{table} cannot be computed: {', '.join(reasons)}.",
            remedy=f"materialize {', '.join([*missing, *empty])} first.",
        )


class InputGone(DeriveRefused):
    """A table of another catalog has nothing of the moment that the run reads it at."""

    def __init__(self, name: str, moment: datetime) -> None:
        super().__init__(
            f"{name} has no snapshot of {moment:%Y-%m-%d %H:%M:%S} UTC, when this run began: what was there then has "
            "expired in its catalog, or it was written first after that.",
            remedy="start a new run; where snapshots expire sooner than a run ends, have them kept for longer there "
            "(history.expire.max-snapshot-age-ms of the table), as nothing of ours holds them.",
        )


class InputWrittenTo(DeriveRefused):
    """An input holds what no seal accounts for, so nobody can say what it would be computed from."""


class HistoryLost(DeriveRefused):
    """What an incremental table has read before is not followed by what it would read now."""


class RowsOfOthers(DeriveRefused):
    """The table holds rows that do not belong beside those of this run."""


class ComputedOtherwise(DeriveRefused):
    """Another run was quicker, and what it has published is of another date or of other parameters."""

    def __init__(self, table: str, winner: Seal, attempt: Attempt, parameters: Parameters) -> None:
        retry = command(table, "--upstream", "--downstream", attempt=attempt, parameters=parameters)
        older = attempt.runtime_date < winner.runtime_date
        super().__init__(
            f"{table}: while this run computed it for runtime date {attempt.runtime_date} with parameters "
            f"{attempt.parameters_digest}, run {winner.run_id} has published it for {winner.runtime_date} with "
            f"{winner.parameters_digest}. Nothing of this run was published.",
            remedy=f"decide which it is to be; for this run's compute it again, with all derived tables above it and "
            f"below these: `{retry}`{', and since its date is the older one, `--backfill <reason>`' if older else ''}.",
        )


class UnknownPartition(DeriveRefused):
    """Rows came out that belong to no declared partition."""


class NotAFrame(DeriveRefused):
    """The function returned something else than a Spark frame."""


class ParameterNotDeclared(DeriveRefused):
    """A computation asks for a parameter that no run has."""

    def __init__(self, asker: str, name: str, declared: Iterable[str]) -> None:
        super().__init__(
            f"{asker} asks for parameter '{name}', which is not declared "
            f"(there is {', '.join(sorted(declared)) or 'none'}).",
            remedy="declare it under parameters in conf/lakehouse.yaml, or correct the name.",
        )


class ComputationFailed(LakehouseError):
    """The function or Spark failed, for a reason that may pass; its own words may show a sensitive value."""


class ContractBroken(DeriveRefused):
    """Rows break a blocking rule of the table."""

    def __init__(self, table: str, broken: Iterable[str], branch: str) -> None:
        super().__init__(
            f"{table}: what was computed breaks a blocking rule: {'; '.join(broken)}. Nothing was published.",
            remedy=f"correct the inputs, the function or the rule; the rows are on branch {branch} until housekeeping.",
        )
