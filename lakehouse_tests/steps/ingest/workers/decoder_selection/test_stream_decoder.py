"""The route of a stream decides which decoder its workers get, and which tables that decoder fills."""

import pandera.pyspark as pa
import pyarrow
import pytest

from lakehouse.declarations import ByField, Declarations, Route, Stream, Table, ToTable, iceberg_schema
from lakehouse.formats.json import JsonDecoder, RoutedDecoder
from lakehouse.steps.ingest.parquet_files.encoding import file_schema
from lakehouse.steps.ingest.workers.decoder_selection.stream_decoder import stream_decoder


class Row(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """A row whose column is called otherwise in records."""

    price: int = pa.Field(description="Price", metadata={"alias": "unit price"})


TABLE = Table(name="shop.orders", schema=Row, description="Orders.", owner="team:shop")


@pytest.mark.parametrize(
    ("route", "decoder", "tables", "record"),
    [
        (ToTable("shop.orders"), JsonDecoder, {"": "shop.orders"}, b'{"unit price": 7}'),
        (ByField("kind", {"o": "shop.orders"}), RoutedDecoder, {"o": "shop.orders"}, b'{"kind":"o","unit price":7}'),
    ],
)
def test_a_route_has_its_decoder_which_knows_the_aliases(
    route: Route, decoder: type, tables: dict[str, str], record: bytes
) -> None:
    stream = Stream(name="orders", topic="orders", route=route)
    declarations = Declarations(tables={"shop.orders": TABLE}, streams={"orders": stream}, files={})
    schemas = {"shop.orders": file_schema(iceberg_schema(TABLE))}
    decoder_of_stream = stream_decoder(stream, declarations, schemas)
    made, by_route = decoder_of_stream.values, decoder_of_stream.tables
    assert (type(made), by_route) == (decoder, tables)
    assert isinstance(made, JsonDecoder | RoutedDecoder)
    decoded = made.decode(pyarrow.array([record], pyarrow.binary()))
    batch = decoded.batch if isinstance(made, JsonDecoder) else decoded.parts["o"].batch  # pyright: ignore[reportAttributeAccessIssue]
    assert batch.to_pylist() == [{"price": 7}]
