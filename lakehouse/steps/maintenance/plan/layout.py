"""Whether rows are distributed over files as they should be, from what the newest appends were like."""

from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.declarations.storage.file_layout import DISTRIBUTION, FANOUT, LayoutFacts, choose
from lakehouse.quantities import quantity
from lakehouse.steps.maintenance.model.action import Advice
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.plan.due_result import sized

_WORTH_IT = 1.5  # so many times faster


def advise_layout(state: MeasuredState, policy: Maintenance, cores: int) -> tuple[Advice, ...]:
    """Advice where another distribution fits the newest appends better than the one that the table has.

    Whether files are kept open is worth a word only where an append makes a file of the target's size, and is then
    much faster: of a few rows nobody would notice.
    """
    facts = layout_facts(state, policy, cores)
    if facts is None or policy.layout != "auto":
        return ()
    layout = choose(facts, for_stream=state.traits.writer in ("stream", "changelog"))
    fanout_matters = facts.batch_bytes >= facts.target and layout.fanout_gain >= _WORTH_IT
    settings = (DISTRIBUTION, FANOUT) if fanout_matters else (DISTRIBUTION,)
    appends = f"{sized(facts.batch_bytes)} in {quantity(max(facts.partitions_per_batch, 1), 'partition')} per append"
    return tuple(
        Advice(setting=key, value=value, because=f"{appends}: {layout.because}")
        for key, value in layout.properties.items()
        if key in settings and state.traits.properties.get(key, value) != value
    )


def layout_facts(state: MeasuredState, policy: Maintenance, cores: int) -> LayoutFacts | None:
    """What the newest appends were like; None where there were none."""
    cadence = state.cadence
    if cadence.append_bytes is None or cadence.append_partitions is None:
        return None
    return LayoutFacts(
        partitions_per_batch=cadence.append_partitions if state.traits.partitioned else 0,
        sort_order=state.traits.sorted,
        cores=cores,
        batch_bytes=cadence.append_bytes,
        target=(policy.rewrite or Rewrite()).target_file_size,
    )
