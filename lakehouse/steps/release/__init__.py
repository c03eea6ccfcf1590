"""Releases: tables that readers see at one vintage, by one pointer that is resolved once.

The rooms in the order of the story: `step` (a release from begin to end), `candidates` (which snapshot of each member),
`gate` (may they be released?), `content` (what is released, by whom begun), `names` and `tags`, `statement` and
`pointer`, `rollback`, `reading`, `audit`.
"""
