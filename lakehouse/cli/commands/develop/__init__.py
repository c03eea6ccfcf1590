"""`dev`, `up`, `down`, `jars`, `produce`, `simulate`."""
