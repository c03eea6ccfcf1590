"""Which tables are to blame that a batch has too many unacceptable records: they stop, and the others go on."""

from lakehouse.declarations import Declarations, Stream
from lakehouse.steps.ingest.gate import TooMuchQuarantined, refused_ends, require_acceptable
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.routes.stopping import Stop, stops_alone
from lakehouse.steps.ingest.step_statement import state


def tables_to_blame(
    stream: Stream, declarations: Declarations, plan: IngestPlan, landed: WriteResult
) -> dict[str, Stop]:
    """Table → why it stops, where the gate would refuse the batch for the sake of some tables alone.

    Nothing where all tables are to blame, or none: then the stream stops, and nothing is published.

    Args:
        stream: with its declared share and number.
        declarations: with its tables.
        plan: what was read.
        landed: what the workers counted.
    """
    try:
        require_acceptable(stream, landed, "", refused_ends(plan, state(plan, landed)))
    except TooMuchQuarantined:
        pass
    else:
        return {}
    least = stream.max_quarantine_records if stream.max_quarantine_share else 0
    blamed = _above(stream, landed, least) or _above(stream, landed, 0)
    alone = {name: stop for name, stop in blamed.items() if stops_alone(stream, declarations.tables[name])}
    return alone if len(alone) < len(stream.tables) else {}


def _above(stream: Stream, landed: WriteResult, least: int) -> dict[str, Stop]:
    blamed: dict[str, Stop] = {}
    for name in stream.tables:
        refused = landed.refused.get(name, 0)
        judged = refused + sum(tally.count for tally in landed.tallies.get(name, {}).values())
        if refused > least and refused / judged > stream.max_quarantine_share:
            blamed[name] = Stop(
                f"{refused} of {judged} records for {name} are not acceptable ({refused / judged:.2%}, allowed "
                f"{stream.max_quarantine_share:.2%}). Correct the producer or the declaration, then run `lakehouse "
                f"reprocess {stream.name}`: the table goes on when that has landed records",
                "reprocessed",
            )
    return blamed
