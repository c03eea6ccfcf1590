"""Measures tables, decides what they need, does it without breaking a promise, and says why.

The rooms in the order of the story: `measure` (a `State`, from metadata alone), `decide` (a `Plan`, a pure function),
the operations, each with a `run`, and `record` (what was decided, and what came of it). `step` puts them together.
"""
