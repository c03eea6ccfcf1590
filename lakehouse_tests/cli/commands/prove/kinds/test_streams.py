"""What `lakehouse audit` says of a stream: also what maintenance removed of what was read."""

import pytest

from lakehouse.cli.commands.prove.kinds.streams import STREAMS
from lakehouse.cli.context import Context
from lakehouse.proofs.audit import StreamProof


def test_rows_that_maintenance_removed_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    proof = StreamProof("orders", read=11, removed={"shop.orders": 1}, seals=1)
    STREAMS.show(Context(), [proof])
    printed = capsys.readouterr().out
    assert "orders: 11 records read, 1 seal, " in printed
    assert "of the records read, maintenance has removed 1 from shop.orders" in printed
    assert proof.as_json()["removed"] == {"shop.orders": 1}
