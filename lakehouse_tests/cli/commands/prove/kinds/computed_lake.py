"""A lake of computed tables, each of which the command finds declared; no Spark."""

from pathlib import Path

from lakehouse.settings import KafkaSettings
from lakehouse_tests.orchestration.assets.house import write_conf
from lakehouse_tests.proofs.lineage.computed import TOP, A, B, C, Computed, derived, lake_of

DECLARED = '''
"""What `lake_of` has created, declared again for the command."""

from lakehouse_tests.proofs.lineage.computed import A, B, C, TOP, derived, source

raw = source(A)
b, c, top = derived(B, A), derived(C, A), derived(TOP, B, C)
'''


def computed_lake(tmp_path: Path, jars: Path) -> Computed:
    """The tables A, B, C and TOP, computed and declared, with settings for the command below `tmp_path`."""
    conf = write_conf(tmp_path, KafkaSettings(bootstrap_servers="127.0.0.1:1"), jars)
    for file in (conf / "declarations").rglob("*.py"):
        file.unlink()
    (conf / "declarations" / "computed.py").write_text(DECLARED.lstrip())
    lake = lake_of(tmp_path / "state", [A], derived(B, A), derived(C, A), derived(TOP, B, C))
    lake.source()
    lake.compute(B)
    lake.compute(C)
    lake.compute(TOP)
    return lake
