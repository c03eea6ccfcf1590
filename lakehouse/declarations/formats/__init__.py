"""How records are written that a stream reads, as its declaration says it."""
