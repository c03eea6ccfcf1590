"""Many append to the log at once: every event is there once, whoever was quicker and whatever was lost on the way."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from lakehouse.declarations import AUDIT_LOG
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches
from lakehouse.protocol.failpoints import InjectedFault
from lakehouse.protocol.journal import Appended, JournalNews, JournalPosition, append
from lakehouse.protocol.journal.event import Known
from lakehouse_tests.fixtures.rest_catalog import Fault
from lakehouse_tests.protocol.journal.kept import Kept, event

pytestmark = pytest.mark.slow


def of(*names: str, **fields: object) -> Callable[[JournalPosition, Known], JournalNews]:
    """A source that always tells the same."""
    return lambda position, _: JournalNews(tuple(event(name, **fields) for name in names), position)


def test_two_reconcilers_at_once_write_every_commit_once(kept_anywhere: Kept) -> None:
    for number in range(3):
        kept_anywhere.write(kept_anywhere.a, number)
        kept_anywhere.write(kept_anywhere.b, number)
    both = threading.Barrier(2)

    def look() -> Appended:
        first = [True]
        catalog = open_catalog(kept_anywhere.lake.settings)
        source = kept_anywhere.source(catalog)

        def together(position: JournalPosition, known: Known) -> JournalNews:
            news = source(position, known)
            if first.pop() if first else False:
                both.wait(30)  # both have seen the same log, and want to write the same
            return news

        return append(catalog, [together], writer="test")

    with ThreadPoolExecutor(2) as pool:
        results = [job.result(60) for job in [pool.submit(look) for _ in range(2)]]
    assert sorted(len(result.events) for result in results) == [0, 6]
    assert len(kept_anywhere.ids()) == len(set(kept_anywhere.ids())) == 6


def test_many_that_write_different_things_lose_none(kept_anywhere: Kept) -> None:
    def tell(number: int) -> None:
        append(open_catalog(kept_anywhere.lake.settings), [of(f"{number}", "everybody's")], writer=f"{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(6)))
    assert sorted(kept_anywhere.ids()) == ["0", "1", "2", "3", "4", "5", "everybody's"]
    log = kept_anywhere.lake.load(AUDIT_LOG.name)
    assert not abandoned_branches(log, older_than=-datetime.resolution), "who lost a race cleans up"
    assert len(log.inspect.files()) <= 6


def test_an_event_that_is_older_than_the_newest_is_still_found(kept: Kept) -> None:
    append(kept.lake.catalog, [of("old", timestamp=datetime(2020, 1, 1, tzinfo=UTC))], writer="test")
    append(kept.lake.catalog, [of("new", timestamp=datetime(2026, 1, 1, tzinfo=UTC))], writer="test")
    again = append(kept.lake.catalog, [of("new", "old", timestamp=datetime(2020, 1, 1, tzinfo=UTC))], writer="test")
    assert not again.events


def test_a_writer_that_dies_before_it_publishes_leaves_nothing_and_keeps_nobody(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write(kept.a, 1)
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "publish.before=fail")
    with pytest.raises(InjectedFault):
        kept.record()
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    assert not kept.rows()
    assert len(kept.record().events) == 1


@pytest.mark.rest
@pytest.mark.parametrize("fault", ["apply-then-cut", "cut", "503", "apply-then-503"])
def test_a_lost_answer_neither_loses_nor_doubles_a_row(kept_by_rest: Kept, fault: Fault) -> None:
    rest = kept_by_rest.lake.rest
    assert rest is not None
    kept_by_rest.write(kept_by_rest.a, 1)
    rest.fail_next(fault, on="transaction", skip=2)  # the branch is opened, then written, then published
    kept_by_rest.record()
    assert rest.faults()["done"] == 1
    kept_by_rest.record()
    assert len(kept_by_rest.ids()) == 1
