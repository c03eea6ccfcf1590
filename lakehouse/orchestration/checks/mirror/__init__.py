"""The checks of a mirror: balance, order, keys in doubt, contract, and the fold computed a second time."""
