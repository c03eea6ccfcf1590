"""The log is read where it is declared to be, and its rows come in the order of their times."""

from lakehouse.declarations import AUDIT_LOG
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.journal.reading import LOG, logged
from lakehouse_tests.fixtures.lakes import Lake


def test_the_name_of_the_log_is_that_of_its_declaration() -> None:
    assert AUDIT_LOG.identifier == LOG


def test_a_log_that_does_not_exist_yet_has_no_rows(sql_lake: Lake) -> None:
    assert logged(open_catalog(sql_lake.settings)) == []
