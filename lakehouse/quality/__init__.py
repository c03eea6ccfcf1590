"""Contract rules, judged on every record before it is written."""

from lakehouse.quality.compiling import UnknownRule
from lakehouse.quality.rules import Rule, Rules, compile_rules

__all__ = ["Rule", "Rules", "UnknownRule", "compile_rules"]
