"""Every mechanism: the one table that `docs/reference/mechanisms.md` shows and `make mutate` goes through."""

from lakehouse_tests.mechanisms.changes import CHANGES
from lakehouse_tests.mechanisms.commit import COMMIT
from lakehouse_tests.mechanisms.derived import DERIVED
from lakehouse_tests.mechanisms.ingest import INGEST
from lakehouse_tests.mechanisms.maintenance import MAINTENANCE
from lakehouse_tests.mechanisms.mechanism import Mechanism
from lakehouse_tests.mechanisms.platforms import PLATFORMS
from lakehouse_tests.mechanisms.servers import SERVERS

MECHANISMS: tuple[Mechanism, ...] = (*COMMIT, *INGEST, *DERIVED, *CHANGES, *MAINTENANCE, *SERVERS, *PLATFORMS)
