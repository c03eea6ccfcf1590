"""`lakehouse catalog env`: for one reader as it is read, for several with their names, and as JSON."""

import json

from lakehouse_tests.cli.conftest import Lakehouse


def test_one_reader_is_told_as_it_reads(lakehouse: Lakehouse) -> None:
    done = lakehouse("catalog", "env", "pyiceberg")
    assert done.exit_code == 0
    assert [line.split("=")[0] for line in done.output.splitlines()] == [
        f"export PYICEBERG_CATALOG__LAKE__{name}" for name in ("TYPE", "URI", "WAREHOUSE")
    ]


def test_all_readers_have_their_names(lakehouse: Lakehouse) -> None:
    titles = [
        line
        for line in lakehouse("catalog", "env").output.splitlines()
        if line.startswith("# ") and " " not in line[2:]
    ]
    assert titles == ["# pyiceberg", "# polars", "# duckdb", "# spark", "# notebook", "# trino"]
    asked = json.loads(lakehouse("catalog", "env", "spark", "trino", "--json").output)
    assert list(asked) == ["spark", "trino"]
    assert "connector.name=iceberg" in asked["trino"]


def test_an_unknown_reader_is_refused(lakehouse: Lakehouse) -> None:
    refused = lakehouse("catalog", "env", "excel")
    assert refused.exit_code == 2
    assert "There is no reader excel. Remedy: name one of pyiceberg, " in refused.output
