"""Which files a rewrite lists otherwise, and of which it claims something new; what readers find is elsewhere.

Guarded mechanism: see `lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites`.
"""

from lakehouse.protocol.commit.relisting import Relisting
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake


def test_what_was_written_anew(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    source = head_of(sql_lake.load(name)) or 0
    sql_lake.write("second", a=[2])
    table = sql_lake.load(name)
    relisting = Relisting.between(table, source, head_of(table) or 0)
    assert [file.record_count for file in relisting.new_files()] == [1]
    assert (relisting.difference(), relisting.new_claims(), relisting.deletes) == ("", [], False)
    assert not Relisting.between(table, source, source).after
