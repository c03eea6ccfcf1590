"""The checks of a derived table: its runtime date, its vintage and its lineage, each from metadata."""

from lakehouse.declarations import Declarations, Table
from lakehouse.orchestration.checks.derived import lineage, runtime_date, vintage
from lakehouse.orchestration.checks.table_question import Judge


def trust_judges(table: Table, declarations: Declarations) -> list[Judge]:
    """The checks of a derived table; none for another. What fails stops what is computed from it, and its releases."""
    declared = declarations.derived.get(table.name)
    if declared is None:
        return []
    return [
        Judge(module.NAME, module.DESCRIPTION, module.judge(declared), blocking=True)
        for module in (runtime_date, vintage, lineage)
    ]
