"""What somebody does to a table outside the protocol, and how the protocol goes on."""

from pathlib import Path

from lakehouse.declarations import Declarations, Expire
from lakehouse.protocol.commit.trim import KEEP_PROPERTY
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.test_columns import declared
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import rewrite

ENOUGH = 1024**3
SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)


def short_lived(lake: Lake) -> str:
    """A table of 1, 2 and 3, that keeps three snapshots."""
    created = lake.create("a", **{KEEP_PROPERTY: "3"})
    lake.write("first", a=[1, 2])
    lake.write("second", a=[3])
    return created


def foreign_append(lake: Lake, name: str, folder: Path) -> None:
    table = lake.load(name)
    table.append(table.scan().to_arrow())


def changed_values(lake: Lake, name: str, folder: Path) -> None:
    rewrite(lake, name, [1, 2, 9], folder)


def swapped_names(lake: Lake, name: str, folder: Path) -> None:
    for old, new in (("n", "other"), ("s", "n"), ("other", "s")):
        with lake.load(name).update_schema(allow_incompatible_changes=True) as update:
            update.rename_column(old, new)


def added_anew(lake: Lake, name: str, folder: Path) -> None:
    with lake.load(name).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("s")
    with lake.load(name).update_schema() as update:
        update.add_column("s", lake.load(name).schema().find_type("n"))


def declarations(name: str) -> Declarations:
    return Declarations({name: declared(name, "n", "s")}, {}, {})


def publish_on(lake: Lake, name: str, times: int) -> None:
    """Seals without rows: what a step without news publishes."""
    for number in range(times):
        lake.write(f"later-{number}", **{name.partition(".")[2]: []})
