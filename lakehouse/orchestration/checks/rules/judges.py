"""Which checks a table's rules, key and references ask for."""

from lakehouse.declarations import Declarations, Mirror, Table
from lakehouse.orchestration.checks.rules.contract import contract_judge
from lakehouse.orchestration.checks.rules.keys import key_judge, reference_judges
from lakehouse.orchestration.checks.rules.row_count import count_judges
from lakehouse.orchestration.checks.table_question import Judge


def rule_judges(table: Table, declarations: Declarations) -> list[Judge]:
    """The checks, those that need no Spark first.

    Tables of streams have `contract_rules` from their ingest, and mirrors have checks of their own for rules and key.
    """
    writer = declarations.writer(table.name)
    return [
        *count_judges(table),
        *([contract_judge(table)] if table.name in declarations.derived else []),
        *([key_judge()] if table.key and not isinstance(writer, Mirror) else []),
        *reference_judges(table),
    ]
