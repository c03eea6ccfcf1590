"""Order and delay: is each position one change, how late do changes arrive, and how far behind is the mirror?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from lakehouse.orchestration.resources.materialization import texts_shown
from lakehouse.steps.cdc.verify.backlog import Backlog
from lakehouse.steps.cdc.verify.ordering import OrderProof

ORDER = "order"
ORDER_DESCRIPTION = (
    "Of the changes that the mirror has consumed: at one position the source says one thing (another one has to be in "
    "the mirror's quarantine), and no change arrives later, by the source's time, than the mirror's declared lateness "
    "allows. A change that is later than that, and of a deleted row, might be refused: then this check warns. "
    "It fails where the newest runs have refused more than the declared share. It warns of an insert of a key that is "
    "there already: the declared key is not unique at the source, or a delete is missing."
)
DELAY = "delay"
DELAY_DESCRIPTION = (
    "How many changes of the changelog are not in the mirror yet, and how old the oldest of them is by Kafka's time. "
    "Warns when that is older than the mirror's target lag. How long the newest change was on its way is told as well; "
    "a replayed history is old by nature."
)


def order_result(proof: OrderProof, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell what the order of changes is like."""
    metadata: dict[str, Any] = {
        "looked at": proof.looked_at,
        "changes": proof.changes,
        "duplicates": proof.duplicates,
        "in quarantine": proof.refused,
        "contradictions": proof.contradictions,
        "contradictions that newer changes made void": proof.void,
        "share out of order": round(proof.out_of_order / proof.changes, 6) if proof.changes else 0.0,
        "latest change (s)": proof.latest.total_seconds(),
        "allowed lateness (s)": proof.allowed.total_seconds(),
        "refused as too late, of the newest runs": proof.late.refused,
        "share refused as too late": round(proof.late.share, 6),
        "inserts of keys that were there": proof.onto_live,
        "seconds": proof.seconds,
    }
    if proof.examples:
        metadata["examples"] = texts_shown("contradiction", proof.examples)
    if proof.live_examples:
        metadata["keys that were there"] = texts_shown("insert", proof.live_examples)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=ORDER,
        passed=proof.holds and proof.in_time and proof.late.holds and not proof.onto_live,
        # Late is not wrong yet; a contradiction that nobody refused is, and so is it when many changes are refused.
        severity=dg.AssetCheckSeverity.WARN if proof.holds and proof.late.holds else dg.AssetCheckSeverity.ERROR,
        description=_describe_order(proof),
        metadata=metadata,
    )


def _describe_order(proof: OrderProof) -> str:
    if not proof.holds:
        return (
            f"At {proof.contradictions:,} positions the source says several things, and none is in quarantine: "
            f"{'; '.join(proof.examples)}."
        )
    if not proof.late.holds:
        return str(proof.late)
    if proof.onto_live:
        return (
            f"{proof.onto_live:,} inserts are of keys that were there already: the declared key is not unique at the "
            f"source, and several of its rows are one here, or a delete is missing: {'; '.join(proof.live_examples)}."
        )
    if not proof.in_time:
        return f"A change was {_span(proof.latest)} late, longer than the {_span(proof.allowed)} that are declared."
    if not proof.changes:
        return "No changes were consumed yet."
    return (
        f"{proof.changes:,} changes ({proof.looked_at}): {proof.out_of_order:,} out of order, none later than "
        f"{_span(proof.latest)}."
    )


def delay_result(
    backlog: Backlog, target: timedelta, key: dg.AssetKey, *, now: datetime | None = None
) -> dg.AssetCheckResult:
    """Tell how far behind a mirror is."""
    age = backlog.age(now or datetime.now(UTC))
    metadata: dict[str, Any] = {
        "changes waiting": backlog.waiting,
        "age of the oldest (s)": round(age.total_seconds(), 1),
        "target lag (s)": target.total_seconds(),
    }
    for name, span in (
        ("from source to mirror (s)", backlog.from_source),
        ("from Kafka to mirror (s)", backlog.from_kafka),
    ):
        if span is not None:
            metadata[name] = round(span.total_seconds(), 1)
    waits = f"{backlog.waiting:,} changes are not in the mirror yet; the oldest waits for {_span(age)}"
    late = age > target
    sentence = f"{waits}, longer than the {_span(target)} that are wanted." if late else f"{waits}."
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=DELAY,
        passed=not late,
        severity=dg.AssetCheckSeverity.WARN,
        description=sentence if backlog.waiting else "Every change of the changelog is in the mirror.",
        metadata=metadata,
    )


def _span(span: timedelta) -> str:
    return str(timedelta(seconds=round(span.total_seconds())))
