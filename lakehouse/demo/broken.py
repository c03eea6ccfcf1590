"""The records that are broken on purpose: what is sent, after how many good ones, and what must become of it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class BrokenRecord(NamedTuple):
    """A record that belongs in quarantine.

    Attributes:
        after: It follows this many good records.
        value: The message.
        error_class: The class under which quarantine must hold it.
        why: What is wrong with it.
    """

    after: int
    value: bytes
    error_class: str
    why: str


BROKEN_FLIGHTS: tuple[BrokenRecord, ...] = (
    BrokenRecord(
        1_000,
        b"This is the captain speaking.",
        "not_json",
        "plain text",
    ),
    BrokenRecord(
        40_000,
        b'{"year":2013,"month":2,"day":14,"carrier":"UA","flight":15',
        "not_json",
        "cut off in the middle",
    ),
    BrokenRecord(
        90_000,
        b'["UA",1545,"EWR","IAH"]',
        "not_an_object",
        "an array in place of an object",
    ),
    BrokenRecord(
        140_000,
        b'{"year":2013,"month":6,"day":5,"dep_time":517,"sched_dep_time":515,"dep_delay":"two minutes","arr_time":830,'
        b'"sched_arr_time":819,"arr_delay":11,"carrier":"UA","flight":1545,"tailnum":"N14228","origin":"EWR",'
        b'"dest":"IAH","air_time":227,"distance":1400,"hour":5,"minute":15,"time_hour":"2013-06-05T09:00:00Z"}',
        "wrong_type",
        "dep_delay is a text",
    ),
    BrokenRecord(
        190_000,
        b'{"year":2013,"month":7,"day":24,"dep_time":533,"sched_dep_time":529,"dep_delay":4,"arr_time":850,'
        b'"sched_arr_time":830,"arr_delay":20,"flight":1714,"tailnum":"N24211","origin":"LGA",'
        b'"dest":"IAH","air_time":227,"distance":1416,"hour":5,"minute":29,"time_hour":"2013-07-24T09:00:00Z"}',
        "missing_field",
        "no carrier, which is part of the key",
    ),
    BrokenRecord(
        240_000,
        b'{"year":2013,"month":9,"day":17,"dep_time":542,"sched_dep_time":540,"dep_delay":2,"arr_time":923,'
        b'"sched_arr_time":850,"arr_delay":33,"carrier":"AA","flight":1141,"tailnum":"N619AA","origin":"JFK",'
        b'"dest":"MIA","air_time":160,"distance":1089,"hour":5,"minute":40}',
        "missing_field",
        "no time_hour, which is part of the key",
    ),
    BrokenRecord(
        300_000,
        b'{"year":2013,"month":11,"day":21,"dep_time":544,"sched_dep_time":545,"dep_delay":-1,"arr_time":1004,'
        b'"sched_arr_time":1022,"arr_delay":-18,"carrier":"B6","flight":100000000000000000000,"tailnum":"N804JB",'
        b'"origin":"JFK","dest":"BQN","air_time":183,"distance":1576,"hour":5,"minute":45,'
        b'"time_hour":"2013-11-21T10:00:00Z"}',
        "out_of_range",
        "a flight number of 21 digits",
    ),
)

UNKNOWN_REFERENCE: tuple[BrokenRecord, ...] = (
    BrokenRecord(
        500,
        b'{"record_type":"helicopters","tailnum":"N407HL","year":2011}',
        "unknown_route",
        "a record_type that no table takes",
    ),
    BrokenRecord(
        9_000,
        b'{"carrier":"ZZ","name":"Nowhere Air"}',
        "unknown_route",
        "no record_type",
    ),
    BrokenRecord(
        20_000,
        b'{"record_type":null,"faa":"XXX","name":"Field of Dreams"}',
        "unknown_route",
        "record_type is null",
    ),
)


def with_broken(good: Sequence[bytes], broken: Iterable[BrokenRecord]) -> list[bytes]:
    """The good records with the broken ones at their places."""
    values: list[bytes] = []
    copied = 0
    for record in broken:
        values += good[copied : record.after]
        values.append(record.value)
        copied = record.after
    return values + list(good[copied:])
