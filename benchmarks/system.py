"""A system under test, as the harness sees it: a process that is started once, asked to ingest, and ended."""

from typing import Protocol, Self

from benchmarks.declared import Case


class System(Protocol):
    """Started by `with`."""

    name: str

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def pid(self) -> int:
        """The root of all its processes."""
        ...

    def prepare(self, case: Case, namespace: str) -> None:
        """Everything that is no part of the ingest: make the tables."""
        ...

    def ingest(self, case: Case, namespace: str) -> None:
        """Ingest the whole topic, and return when the last record is committed."""
        ...

    def settle(self, namespace: str) -> None:
        """Everything that is no part of the ingest, afterwards."""
        ...
