"""Who finds a key twice in what a stream has filled is told the way out: a policy, and a command."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from lakehouse.declarations import load_declarations
from lakehouse.orchestration.checks.rules.keys import key_remedy
from lakehouse.orchestration.checks.table_question import TableCheckRun

ORDERS = """
import pandera.pyspark as pa
from datetime import timedelta
from lakehouse import Deduplicate, Maintenance, Stream, Table, ToTable

class Orders(pa.DataFrameModel):
    order_id: int = pa.Field(description="Order number")

orders = Table(name="shop.orders", schema=Orders, description="Orders.", owner="me", key=("order_id",))
alone = Table(name="shop.alone", schema=Orders, description="Of nobody.", owner="me", key=("order_id",))
stream = Stream(name="orders", topic="orders", route=ToTable("shop.orders"))
"""
POLICY = 'maintenance=Maintenance(deduplicate=Deduplicate(order_by=("_kafka_offset desc",), closed_after=timedelta(0)))'
IMPORTS = "`from datetime import timedelta`, `from lakehouse import Deduplicate, Maintenance`"
DECLARATION = f"declare `{POLICY}` ({IMPORTS})"
COMMAND = "`lakehouse maintain shop.orders --only deduplicate --yes`"


@pytest.mark.parametrize(
    ("name", "declared", "remedy"),
    [
        (
            "shop.orders",
            "",
            f" Remedy, where the newest message is right: {DECLARATION}, then {COMMAND}.",
        ),
        ("shop.orders", POLICY, f" Remedy: {COMMAND}."),
        ("shop.alone", "", ""),
    ],
)
def test_the_remedy_is_the_one_that_the_declaration_still_needs(
    name: str, declared: str, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / "orders.py").write_text(ORDERS.replace('"Orders.",', f'"Orders.", {declared}{declared and ","}'))
    declarations = load_declarations([tmp_path])
    check_run = SimpleNamespace(table=declarations.tables[name], declarations=declarations)
    assert key_remedy(cast("TableCheckRun", check_run)) == remedy
