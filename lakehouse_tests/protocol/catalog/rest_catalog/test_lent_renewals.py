"""When credentials that a catalog lends are asked for again, and what a renewal that lends less, or fails, is worth."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from pyiceberg.io import FileIO
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Properties
from requests import ConnectionError as NoConnection

from lakehouse.protocol.catalog.rest_catalog import lent_storage
from lakehouse.protocol.catalog.rest_catalog.lent_storage import current_properties, renewing

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock(datetime):
    """A clock that stands."""

    time = NOON

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        """The time that the test says."""
        return cls.time


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(lent_storage, "datetime", Clock)
    monkeypatch.setattr(Clock, "time", NOON)
    return Clock


def lent(token: str, minutes: float, **others: object) -> Properties:
    ends = NOON + timedelta(minutes=minutes)
    return {"s3.session-token": token, "s3.session-token-expires-at-ms": str(int(ends.timestamp() * 1000)), **others}


class Catalog:
    """What is answered to each renewal, and how many there were."""

    def __init__(self, *answers: Properties | Exception) -> None:
        self.answers, self.asked = list(answers), 0

    def __call__(self) -> Properties:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(params=[PyArrowFileIO, FsspecFileIO])
def storage(request: pytest.FixtureRequest) -> Callable[[Properties, Catalog], FileIO]:
    return lambda properties, catalog: renewing(request.param(properties), catalog)


def token(io: FileIO) -> str:
    return str(current_properties(io).get("s3.session-token"))


def test_five_minutes_before_their_end_others_are_asked_for_once(storage: Callable[..., FileIO]) -> None:
    catalog = Catalog(lent("b", 120))
    io = storage(lent("a", 60), catalog)
    Clock.time = NOON + timedelta(minutes=54)
    assert token(io) == "a"
    Clock.time = NOON + timedelta(minutes=56)
    assert [token(io), token(io)] == ["b", "b"]
    assert catalog.asked == 1


LESS: list[Properties | Exception] = [
    {},
    {"s3.session-token": "b"},
    {"s3.session-token": "b", "s3.session-token-expires-at-ms": "soon"},
    NoConnection("away"),
    RecursionError("deep"),
    lent("b", 57, **{"s3.access-key-id": "b"}),
    lent("b", 120),
]


@pytest.mark.parametrize(
    "answer", LESS, ids=["nothing", "no end", "no moment", "no answer", "strange", "sooner", "part"]
)
def test_what_holds_stays_where_a_renewal_lends_less_or_fails(
    storage: Callable[..., FileIO], answer: Properties | Exception
) -> None:
    catalog = Catalog(answer, lent("c", 120, **{"s3.access-key-id": "c"}))
    io = storage(lent("a", 60, **{"s3.access-key-id": "a"}), catalog)
    Clock.time = NOON + timedelta(minutes=56)
    assert [token(io), token(io), catalog.asked] == ["a", "a", 1]
    Clock.time += timedelta(minutes=1)
    assert [token(io), catalog.asked] == ["c", 2]


def test_a_renewal_for_fewer_accounts_is_none() -> None:
    catalog = Catalog({key: value for key, value in _of_azure(120).items() if ".a" in key}, _of_azure(180))
    io = renewing(FsspecFileIO(_of_azure(60)), catalog)
    Clock.time = NOON + timedelta(minutes=56)
    assert "adls.sas-token.b" in current_properties(io)
    Clock.time += timedelta(minutes=1)
    assert current_properties(io) == _of_azure(180)


def _of_azure(minutes: int) -> Properties:
    ends = str(int((NOON + timedelta(minutes=minutes)).timestamp() * 1000))
    tokens = {f"adls.sas-token.{account}": f"{account}{minutes}" for account in "ab"}
    return tokens | {f"adls.sas-token-expires-at-ms.{account}": ends for account in "ab"}


def test_what_has_ended_is_worth_the_catalogs_error(storage: Callable[..., FileIO]) -> None:
    catalog = Catalog(NoConnection("away"), lent("b", 180))
    io = storage(lent("a", 60), catalog)
    Clock.time = NOON + timedelta(minutes=61)
    with pytest.raises(NoConnection):
        token(io)
    Clock.time += timedelta(minutes=1)
    assert token(io) == "b"


def test_what_ends_on_arrival_is_not_asked_for_with_each_file(storage: Callable[..., FileIO]) -> None:
    catalog = Catalog(lent("b", -5), {}, lent("d", 60))
    io = storage(lent("a", -5), catalog)
    assert [token(io), token(io), catalog.asked] == ["b", "b", 1]
    Clock.time += timedelta(minutes=1)
    assert [token(io), token(io), catalog.asked] == ["None", "None", 2]
    Clock.time += timedelta(minutes=1)
    assert token(io) == "d"


@pytest.mark.parametrize("ends", [NOON.timestamp() * 1000 + 3_600_000, None, True, {}])
def test_an_end_that_is_no_text_is_read_or_unknown(ends: object) -> None:
    value = int(ends) if isinstance(ends, float) else ends
    io = PyArrowFileIO({"s3.session-token": "a", "s3.session-token-expires-at-ms": value})
    assert (renewing(io, Catalog()) is io) == (not isinstance(ends, float))
