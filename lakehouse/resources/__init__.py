"""What assets ask for by name: `lake` (tables) and `spark` (sessions)."""

from lakehouse.resources.fitting import DoesNotFit
from lakehouse.resources.judging import RulesBroken
from lakehouse.resources.lake import DeclarationAhead, Lake, NotDeclared
from lakehouse.resources.spark import LakehouseSpark
from lakehouse.resources.spark_lost import repeated_when_spark_is_lost
from lakehouse.resources.writing import WriteMode, WrittenByStream

__all__ = [
    "DeclarationAhead",
    "DoesNotFit",
    "Lake",
    "LakehouseSpark",
    "NotDeclared",
    "RulesBroken",
    "WriteMode",
    "WrittenByStream",
    "repeated_when_spark_is_lost",
]
