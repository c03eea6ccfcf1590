"""The checks of a stream: each record once, fresh, and as the contract asks."""
