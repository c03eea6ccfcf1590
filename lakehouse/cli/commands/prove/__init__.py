"""`audit`, of each kind of thing that makes a promise, and `replay`."""
