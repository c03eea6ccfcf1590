"""Contract rules, judged on every record before it is written."""

from lakehouse.contracts.rules.batch_rules import BatchRule, Rules, compile_filter, compile_rules
from lakehouse.contracts.rules.compile import UnknownRule

__all__ = ["BatchRule", "Rules", "UnknownRule", "compile_filter", "compile_rules"]
