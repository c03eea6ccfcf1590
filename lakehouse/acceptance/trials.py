"""The trials in their order, and how they are carried out: what cannot be done keeps no other from being tried."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

from lakehouse.acceptance import credential_trials, maintenance_trials, protocol_trials, step_trials
from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import NotSeen, Outcome, PromiseBroken, Trial
from lakehouse.errors import LakehouseError

_TIME_OVER = NotSeen("the time was over", "say the same with more --minutes")
_LONGEST = 300  # characters
TRIALS = (
    Trial("capability", "a staged row is not a published row", protocol_trials.capability),
    Trial("races", "of two writers one wins, in all tables", protocol_trials.races),
    Trial("lost answer", "a commit is done once", protocol_trials.lost_answer),
    Trial("kill", "several tables change together or not", protocol_trials.killed),
    Trial("credentials", "clients hold no storage keys", credential_trials.expiry),
    Trial("scope", "credentials of a table open no other", credential_trials.scope),
    Trial("exactly once", "P1: each record is there once", step_trials.exactly_once, needs_spark=True),
    Trial("metadata tables", "what Spark says of files comes back", step_trials.metadata_tables, needs_spark=True),
    Trial("maintenance", "P5: a compaction keeps what is proven", maintenance_trials.compacted, needs_spark=True),
    Trial("mirror", "P4: a mirror is what its changelog makes", step_trials.mirrored, needs_spark=True),
    Trial("release", "P3: one vintage, one runtime date", step_trials.released, needs_spark=True),
)


def carry_out(scratch: Scratch, seconds: float, trials: Sequence[Trial] = TRIALS) -> Iterator[Outcome]:
    """Carry out trials, each as soon as it is asked for; a classic driver starts once for all.

    Args:
        scratch: what they work on.
        seconds: after so long no further trial is begun.
        trials: which.
    """
    ends, warm = time.monotonic() + seconds, False
    with ExitStack() as stack:
        for trial in trials:
            if time.monotonic() >= ends:
                yield _not_seen(trial, _TIME_OVER, 0.0)
                continue
            scratch.inform(trial.name)
            # On Connect a checkpoint is looked for in the session that was opened first (PySpark 4.1).
            if trial.needs_spark and not warm and scratch.settings.platform.mode == "classic":
                warm = True
                with suppress(Exception):  # the trial that is next tells what is wrong
                    stack.enter_context(scratch.session())
            yield _outcome(trial, scratch)


def _outcome(trial: Trial, scratch: Scratch) -> Outcome:
    began = time.monotonic()
    try:
        evidence = trial.carry_out(scratch)
    except NotSeen as reason:
        return _not_seen(trial, reason, time.monotonic() - began)
    except PromiseBroken as broken:
        evidence, remedy = str(broken), "do not put production there before the reason is known"
    except LakehouseError as error:
        evidence, remedy = error.message, error.remedy
    except Exception as error:  # noqa: BLE001 - whatever the environment denies, it must not hide the other trials
        # Of what a library says only the kind: the rest may repeat a secret.
        evidence, remedy = f"it ended in {type(error).__name__}", "the log of the command, with --verbose, says more"
    else:
        return Outcome(trial.name, trial.promise, "seen", evidence, seconds=time.monotonic() - began)
    return Outcome(trial.name, trial.promise, "refused", evidence[:_LONGEST], remedy, time.monotonic() - began)


def _not_seen(trial: Trial, reason: NotSeen, seconds: float) -> Outcome:
    return Outcome(trial.name, trial.promise, "not seen", reason.reason, reason.remedy, seconds)
