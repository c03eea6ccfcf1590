"""Which range of the changelog a run applies, with which columns, read at which snapshots."""
