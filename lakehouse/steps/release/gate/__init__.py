"""The gate: what keeps a release back, from what is given alone."""
