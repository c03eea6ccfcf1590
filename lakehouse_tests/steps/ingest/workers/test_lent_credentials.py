from collections.abc import Mapping
from time import time

import pytest

from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.workers.lent_credentials import CredentialsEnded, while_they_last
from lakehouse_tests.fixtures.lakes import Lake


def lent_for(lake: Lake, seconds: float) -> Mapping[str, Base]:
    """A table whose storage is reached by credentials that end."""
    name = lake.create("a")
    bases = lake.bases(name)
    ends = str(int((time() + seconds) * 1000))
    bases[name].table.io.properties |= {"s3.session-token": "t", "s3.session-token-expires-at-ms": ends}
    return bases


def test_what_fails_after_they_have_ended_fails_for_that(sql_lake: Lake) -> None:
    bases = lent_for(sql_lake, -1)
    with pytest.raises(CredentialsEnded, match=next(iter(bases))), while_they_last(bases):
        raise OSError("HTTP status 400")


def test_what_fails_before_fails_as_it_does(sql_lake: Lake) -> None:
    with pytest.raises(OSError, match="broken"), while_they_last(lent_for(sql_lake, 3600)):
        raise OSError("broken")


def test_without_credentials_that_end_nothing_is_said_of_them(sql_lake: Lake) -> None:
    name = sql_lake.create("b")
    with pytest.raises(OSError, match="broken"), while_they_last(sql_lake.bases(name)):
        raise OSError("broken")
