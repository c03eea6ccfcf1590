"""The checks of maintenance: what had to stay is there, and orphans were seen twice."""
