"""Tables computed from tables: inputs pinned and agreed upon, computed, judged on a branch, sealed, published."""
