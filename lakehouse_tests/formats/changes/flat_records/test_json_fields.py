"""Fields that tell of a change, in each of the ways that senders write them."""

import pyarrow as pa

from lakehouse.formats.changes.flat_records.json_fields import canonical, text_of_json, time_of_json, whole_numbers


def test_one_string_is_one_string_however_it_is_escaped() -> None:
    assert canonical(pa.array(['"\\u0063"', '"c"', "1", None])).to_pylist() == ['"c"', '"c"', "1", None]


def test_texts_and_numbers_are_texts() -> None:
    assert text_of_json(pa.array(['"a\\tb"', '"x"', "7", None]), 4).to_pylist() == ["a\tb", "x", "7", None]
    assert text_of_json(pa.array(['"x"', "7"]), 2).to_pylist() == ["x", "7"]
    assert text_of_json(None, 2).to_pylist() == [None, None]


def test_a_time_is_milliseconds_or_a_date() -> None:
    times = time_of_json(pa.array(["5", '"1970-01-01T00:00:01Z"', "true", None]), 4)
    assert times.to_pylist() == [5_000, 1_000_000, None, None]


def test_a_position_is_a_whole_number_from_zero_on() -> None:
    numbers, fits = whole_numbers(pa.array(["0", "17", "-1", "1.5", None]))
    assert (numbers[fits].tolist(), fits.tolist()) == ([0, 17], [True, True, False, False, False])
