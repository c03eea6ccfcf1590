"""The checks of a derived table: its runtime date, its vintage and its lineage, each from metadata."""

from lakehouse.checks import trust_dates, trust_lineage, trust_vintage
from lakehouse.checks.judge import Judge
from lakehouse.tables import Declarations, Table


def trust_judges(table: Table, declarations: Declarations) -> list[Judge]:
    """The checks of a derived table; none for another. What fails stops what is computed from it, and its releases."""
    declared = declarations.derived.get(table.name)
    if declared is None:
        return []
    return [
        Judge(module.NAME, module.DESCRIPTION, module.judge(declared), blocking=True)
        for module in (trust_dates, trust_vintage, trust_lineage)
    ]
