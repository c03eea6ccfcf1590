"""Which checks a table's rules, key and references ask for."""

from lakehouse.checks.judge import Judge
from lakehouse.checks.rules_contract import contract_judge
from lakehouse.checks.rules_count import count_judges
from lakehouse.checks.rules_keys import key_judge, reference_judges
from lakehouse.tables import Declarations, Mirror, Table


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
