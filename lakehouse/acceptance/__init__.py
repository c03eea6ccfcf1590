"""Are the promises kept on a catalog, a store, a Spark and a Kafka that nobody has tried? Small trials say so.

They work in a namespace and on topics of their own, which are removed at the end.
"""

from lakehouse.acceptance.page import page
from lakehouse.acceptance.scratch import Scratch, scratch
from lakehouse.acceptance.trial import Outcome, Verdict
from lakehouse.acceptance.trials import TRIALS, carry_out

__all__ = ["TRIALS", "Outcome", "Scratch", "Verdict", "carry_out", "page", "scratch"]
