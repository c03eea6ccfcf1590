"""What assets ask for by name: `lake` (tables) and `spark` (sessions)."""

from lakehouse.orchestration.resources.contract import RulesBroken
from lakehouse.orchestration.resources.declared_tables import DeclarationAhead, NotDeclared
from lakehouse.orchestration.resources.fit_to_schema import DoesNotFit
from lakehouse.orchestration.resources.lake import Lake
from lakehouse.orchestration.resources.lost_spark import repeated_when_spark_is_lost
from lakehouse.orchestration.resources.spark import LakehouseSpark
from lakehouse.orchestration.resources.writing import WriteMode, WrittenByStream

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
