"""The promise of a stream in one line: each message that was read is in a table, or was removed by maintenance."""

from lakehouse.cli.reports.outcome import Mirrored, RunOutcome
from lakehouse.cli.reports.run_report import balance, done
from lakehouse.engines.kafka.statement import DUPLICATE, FILTERED, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally


def statement(**more: dict[str, dict[int, Tally]]) -> KafkaStatement:
    return KafkaStatement("cluster", "orders", "id", {}, {}, total_counts=Counts(read=11), **more)


def test_what_a_deduplication_removed_is_a_part_of_the_equation() -> None:
    removed = statement(retired={"shop.orders": {0: Tally.of_range(0, 1)}})
    assert balance("orders", removed, {"shop.orders": 2, "quarantine.orders": 8}) == (
        "11 messages of topic orders = 2 in shop.orders + 8 in quarantine.orders + 1 removed from shop.orders since"
    )


def test_so_is_what_a_declared_rule_has_dropped() -> None:
    dropped = {DUPLICATE: {0: Tally.of_range(0, 2)}, FILTERED: {1: Tally.of_range(4, 5)}}
    assert balance("orders", statement(totals=dropped), {"shop.orders": 2, "quarantine.orders": 6}) == (
        "11 messages of topic orders = 2 in shop.orders + 6 in quarantine.orders + 2 dropped by rule (duplicate) + "
        "1 dropped by rule (filtered)"
    )


def test_a_message_that_is_nowhere_is_not_made_good() -> None:
    assert balance("orders", statement(), {"shop.orders": 2, "quarantine.orders": 8}) == (
        "11 messages of topic orders ≠ 2 in shop.orders + 8 in quarantine.orders"
    )


def test_what_was_computed_anew_is_not_called_added() -> None:
    assert done(RunOutcome()) == "Nothing new: every message was read before, no row was added"
    assert done(RunOutcome(written={"mart.days": 1095})) == "1,095 rows of 1 table written anew"
    outcome = RunOutcome(added={"raw.birds": 1}, written={"mart.days": 2}, mirrored={"mirror.a": Mirrored(deleted=1)})
    assert done(outcome) == "1 row added, 2 rows of 1 table written anew, 1 row of mirrors updated or deleted"
    outcome.failures["birds"] = "broken"
    assert done(outcome).endswith("updated or deleted, and 1 step failed: see above")
    assert done(RunOutcome(failures={"birds": "broken"})) == "0 rows added, and 1 step failed: see above"
