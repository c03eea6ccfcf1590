"""Names: what Polaris refuses is refused before it is asked."""

import pytest

from lakehouse.polaris.declared.names import problem_of_namespace, problem_of_polaris_name, problem_of_table


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("lake-ingest", None),
        ("lake ingest", None),
        ("a/b", "has /, which Polaris refuses in names"),
        ("a\u200bb", "U+200B"),
        ("", "is no name"),
        ("..", "is no name"),
        ("x" * 256, None),
        ("x" * 257, "has 257 characters, and Polaris takes 256"),
        ("System$admin", "begins with system$"),
        ("subsystem$", None),
    ],
)
def test_a_name(name: str, problem: str | None) -> None:
    result = problem_of_polaris_name(name)
    assert result is None if problem is None else problem in str(result)


def test_every_level_of_a_namespace_is_looked_at() -> None:
    assert problem_of_namespace("raw.eu") is None
    assert problem_of_namespace("raw.e:u") == "has :, which Polaris refuses in names"
    assert problem_of_namespace("raw..eu") == "is no name"


def test_a_table_has_a_namespace() -> None:
    assert problem_of_table("raw.flights") is None
    assert problem_of_table("flights") == "names no namespace; write namespace.table"
