"""What a process with the JARs of AWS does on a Glue catalog: a class path cannot be had in a driver that runs already.

Arguments: settings of the catalog, as JSON; a namespace with a table `a` of one row, 1.
"""

import sys
from pathlib import Path

from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse.settings import CatalogSettings, load_settings
from lakehouse_tests.fixtures.lakes import Lake


def main(catalog: CatalogSettings, namespace: str) -> None:
    """Each side reads what the other has written; a branch is no part of `main`."""
    settings = load_settings(Path(__file__).parents[3] / "conf").model_copy(update={"catalog": catalog})
    lake, table = Lake(catalog, open_catalog(catalog), namespace, None), f"lake.{namespace}.a"
    with spark_session(settings, app_name="glue") as spark:

        def rows(of: str = table) -> list[int]:
            return sorted(row.n for row in spark.sql(f"SELECT n FROM {of}").collect())

        assert rows() == [1]
        spark.sql(f"INSERT INTO {table} VALUES (2, 'two')")
        assert lake.rows(f"{namespace}.a") == [1, 2]
        head = lake.load(f"{namespace}.a").metadata.current_snapshot_id
        assert head is not None
        lake.load(f"{namespace}.a").manage_snapshots().create_branch(head, "b").commit()
        spark.sql(f"INSERT INTO {table}.branch_b VALUES (3, 'three')")
        assert rows(f"{table} VERSION AS OF 'b'") == [1, 2, 3]
        assert rows() == [1, 2]
        lake.write("python", made=[7])
        assert rows(f"lake.{namespace}.made") == [7]


if __name__ == "__main__":
    main(CatalogSettings.model_validate_json(sys.argv[1]), sys.argv[2])
