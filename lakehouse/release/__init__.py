"""Releases: tables that readers see at one vintage, by one pointer that is resolved once.

The rooms in the order of the story: `names` (of releases and their tags), `candidates` (which snapshot of each member),
`gate` (may they be released?), `tags`, `pointer`, `step` (a release from begin to end), `rollback`, `reading`, `audit`.
"""
