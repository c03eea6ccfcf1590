"""The seal of an attempt that only maintains a table.

Guarded mechanism: it says again what the seal before it said, which may expire.
"""

from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import MAINTENANCE, Seal


def test_maintenance_says_again_what_the_seal_before_it_said() -> None:
    work = Attempt("run", "ingest", runtime_date="2013-05-14", code_version="v1", parameters_digest="p")
    before = Seal.of(work, "ingest", statement={"kafka.end": '{"0":7}'}, previous=None, inputs={"raw.a": 1})
    upkeep = Attempt("upkeep", "maintain:raw.a")
    again = Seal.repeated(before, upkeep)
    assert (again.kind, again.run_id, again.attempt, again.previous) == (
        MAINTENANCE,
        "upkeep",
        upkeep.id,
        before.digest,
    )
    assert (again.statement, again.inputs) == (before.statement, before.inputs)
    assert (again.runtime_date, again.code_version, again.parameters_digest) == ("2013-05-14", "v1", "p")
