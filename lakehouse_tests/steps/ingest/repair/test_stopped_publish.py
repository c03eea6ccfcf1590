"""A repair that stopped between two tables, where these change one by one, is not done twice, nor sealed over."""

from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.declarations import Stream, ToTable
from lakehouse.protocol.completion.completion import complete_publish
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import PublishStopped
from lakehouse.steps.ingest.repair.refused_retention import expire_refused, find_expired_refused
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.conftest import THINGS
from lakehouse_tests.steps.ingest.in_process import InProcess

pytestmark = pytest.mark.slow

LATER = datetime.now(UTC) + timedelta(days=60)
GOOD, BROKEN = (None, b'{"id": 1}'), (b"key", b"broken")


@pytest.fixture
def things(glue_lake: Lake) -> InProcess:
    """A stream whose data table is changed before its quarantine: by the alphabet."""
    namespace = f"bronze{glue_lake.namespace}"
    glue_lake.catalog.create_namespace(namespace)
    glue_lake.catalog.create_namespace_if_not_exists("quarantine")
    stream = Stream(
        name=f"s{glue_lake.namespace}",
        topic="t",
        route=ToTable(f"{namespace}.things"),
        max_quarantine_share=1,
        keep_refused=timedelta(days=30),
    )
    process = InProcess(glue_lake.catalog, stream)
    process.declare(declare(THINGS, name=f"{namespace}.things").with_coordinates())
    process.ingest({0: [GOOD, BROKEN], 1: [BROKEN, GOOD]})
    return process


def expire(things: InProcess) -> None:
    bases, step = read_bases(things.catalog, things.tables), things.step("retire")
    expired = find_expired_refused(step, bases, now=LATER)
    assert expired is not None
    expire_refused(step, bases, expired)


def test_it_is_completed_before_it_is_said_again(things: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "glue.between=fail")
    with pytest.raises(RuntimeError, match=r"glue\.between"):
        expire(things)
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    with pytest.raises(PublishStopped, match=r"published .*things and stopped before quarantine\..* next run complete"):
        expire(things)
    with pytest.raises(PublishStopped):
        stored_position(things.stream.name, read_bases(things.catalog, things.tables))
    assert complete_publish(things.catalog, things.tables) == [things.stream.quarantine_table]
    things.ingest({0: [GOOD]})
    audit = things.audit(scan=True)
    assert audit.holds, audit.findings
