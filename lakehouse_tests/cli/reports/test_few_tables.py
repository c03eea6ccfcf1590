"""A writer with many tables does not flood a report; what there is something to say of is shown."""

from lakehouse.cli.reports.few_tables import FEW, MOST, left_out, rows_together

MANY = {f"shop.t{n:03d}": "shop" for n in range(100)}


def test_all_tables_of_small_writers_are_shown() -> None:
    writers = {f"a.t{n}": "a" for n in range(MOST)} | {f"b.t{n}": "b" for n in range(MOST)}
    assert left_out(writers) == {}


def test_of_a_hundred_a_few_are_shown_and_the_rest_follows_the_last_of_them() -> None:
    after = left_out({"raw.flights": "flights"} | MANY)
    assert {last: len(tables) for last, tables in after.items()} == {f"shop.t{FEW - 1:03d}": 100 - FEW}


def test_a_table_of_which_there_is_something_to_say_is_shown() -> None:
    (last, tables), *others = left_out(MANY, {"shop.t050"}).items()
    assert (last, len(tables), others) == ("shop.t050", 100 - FEW - 1, [])
    assert "shop.t050" not in tables


def test_rows_of_several_tables_are_known_if_those_of_each_are() -> None:
    assert rows_together([1, 2, 0]) == 3
    assert rows_together([1, None]) is None
    assert rows_together([]) == 0
