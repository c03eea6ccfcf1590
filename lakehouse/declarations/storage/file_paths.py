"""Where Spark puts the files of a partition: not below a folder that is named after a text of any length.

A folder's name has an end, at 255 bytes on a disk. A text that is a partition has none, and Spark writes it into the
path, each byte of a letter that is not plain as three. Such a record would stop its stream, its mirror and every
rewrite of its partition, for ever. Iceberg keeps the values in manifests, and needs none in a path.
"""

from pyiceberg.transforms import IdentityTransform, TruncateTransform
from pyspark.sql.types import BinaryType, StringType

from lakehouse.declarations.storage.layout import HasLayout, partition_terms

_WITHOUT_PARTITIONS = {"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"}


def path_properties(table: HasLayout) -> dict[str, str]:
    """Properties of a table with a text or bytes among its partitions: paths have a hash in place of values.

    Our own writer names such folders by a digest: `lakehouse.steps.ingest.parquet_files.folders`.

    Raises:
        DeclarationError: the partitioning cannot be read.
    """
    texts = {column.name for column in table.columns if isinstance(column.type, StringType | BinaryType)}
    of_any_length = any(
        term.source in texts and isinstance(term.transform, IdentityTransform | TruncateTransform)
        for term in partition_terms(table)
    )
    return dict(_WITHOUT_PARTITIONS) if of_any_length else {}
