"""What a command that only looks does not import: that is most of what it costs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse_tests.rooms import ROOT

pytestmark = pytest.mark.slow

# Runs a command as a process begins it, and says which modules it has imported.
_PROGRAM = """
import json, sys
from lakehouse.__main__ import main
try:
    main()
except SystemExit as ended:
    print(json.dumps([ended.code or 0, sorted(name for name in sys.modules if "." not in name)]), file=sys.stderr)
"""


def _imports(home: Path, *words: str) -> set[str]:
    environment = {
        **os.environ,
        "LAKEHOUSE_HOME": str(home),
        "LAKEHOUSE_CONF": str(ROOT / "conf"),
        "LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words], env=environment, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (
            ("--help",),
            {"dagster", "pyspark", "pyiceberg", "pandera", "pandas", "polars", "pyarrow", "numpy", "confluent_kafka"},
        ),
        (("tables", "--json"), {"dagster", "dagster_pyspark", "polars", "matplotlib"}),
        (("plan", "--json"), {"dagster", "dagster_pyspark", "polars", "matplotlib", "confluent_kafka"}),
        (
            ("log", "--json"),
            {"dagster", "dagster_pyspark", "polars", "matplotlib", "confluent_kafka", "pandera", "pyspark", "grpc"},
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_that_only_looks_imports_nothing_that_it_does_not_use(
    tmp_path: Path, words: tuple[str, ...], absent: set[str]
) -> None:
    """Guarded mechanism: verbs are imported when they are asked for.

    What reads declarations imports pandera and PySpark, as the files that declare do; these cost as much as all the
    rest.
    """
    assert not _imports(tmp_path / "home", *words) & absent
