"""Which pool the work on a table takes turns in: that of its writer, so that neither is in the other's way.

Pools are for peace, not for safety: what meets at the fence all the same is rebased, or begins again.
"""

from lakehouse.declarations import OWN_TABLES, Declarations, Derived, Mirror, Release, Stream
from lakehouse.orchestration.assets.derived import derived_step
from lakehouse.orchestration.assets.release import release_step
from lakehouse.orchestration.assets.specs import mirror_step
from lakehouse.orchestration.assets.stream import pool_of

OWN_POOL = "maintenance"


def pool_for(table: str, declarations: Declarations) -> str:
    """The pool of a table's writer; of a table that nobody declared to write, one of its own."""
    if table in OWN_TABLES:
        return OWN_POOL
    match declarations.writer(table):
        case Stream() as stream:
            return pool_of(stream)
        case Mirror() as mirror:
            return mirror_step(declarations.mirrors[mirror.name])
        case Derived() as derived:
            return derived_step(derived)
        case Release() as release:
            return release_step(release)
        case None:
            return f"maintain_{'__'.join(table.split('.'))}"
