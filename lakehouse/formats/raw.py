"""Records that are not decoded: every one of them is a row."""

import pyarrow as pa

from lakehouse.formats.decoded import Decoded


class RawDecoder:
    """Decodes nothing; what a row holds are parts of the record."""

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """No column, and no error."""
        del values, headers
        return Decoded(pa.RecordBatch.from_arrays([], schema=pa.schema([])))
