"""How the tables are maintained that the lakehouse writes about all others.

Maintenance writes down what it does, also what it does to these: about three commits each time. So what is due here has
to be worth many more, or it would be the reason for the next, and for ever. And nobody but the lakehouse writes them,
by appends, which endanger no rewrite: to wait for a quiet quarter of an hour, which the decision to rewrite would end,
is to wait for ever.
"""

from dataclasses import replace
from datetime import timedelta

from lakehouse.declarations.policies.maintenance import Expire, Maintenance
from lakehouse.declarations.policies.rewrite import Rewrite

RECORD_UPKEEP = Maintenance(
    rewrite=Rewrite(quiet_for=timedelta(0), min_input_files=30),
    expire=Expire(max_snapshots=100, at_least=40),
)
# A look at its files is written down there as well, which would be the reason for the next.
DECISIONS_UPKEEP = replace(RECORD_UPKEEP, orphans=None)
