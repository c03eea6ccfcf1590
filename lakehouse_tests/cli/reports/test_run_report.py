"""The promise of a stream in one line: each message that was read is in a table, or was removed by maintenance."""

from lakehouse.cli.reports.run_report import balance
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally


def statement(**more: dict[str, dict[int, Tally]]) -> KafkaStatement:
    return KafkaStatement("cluster", "orders", "id", {}, {}, total_counts=Counts(read=11), **more)


def test_what_a_deduplication_removed_is_a_part_of_the_equation() -> None:
    removed = statement(retired={"shop.orders": {0: Tally.of_range(0, 1)}})
    assert balance("orders", removed, {"shop.orders": 2, "quarantine.orders": 8}) == (
        "11 messages of topic orders = 2 in shop.orders + 8 in quarantine.orders + 1 that maintenance removed from "
        "shop.orders"
    )


def test_a_message_that_is_nowhere_is_not_made_good() -> None:
    assert balance("orders", statement(), {"shop.orders": 2, "quarantine.orders": 8}) == (
        "11 messages of topic orders ≠ 2 in shop.orders + 8 in quarantine.orders"
    )
