"""The kinds of things that make a promise: how each is proven, and how its proofs are shown."""
