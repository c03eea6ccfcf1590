"""The same orders in JSON, Avro and Protobuf; of the last two, each record names its schema in Confluent's way."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Literal

from benchmarks.records import KINDS, PARTITIONS, order
from lakehouse.engines.kafka import Record
from lakehouse.formats.avro.encoder import AvroEncoder
from lakehouse.formats.frames.confluent import write_frame
from lakehouse.formats.protobuf.compiler import compile_proto
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse.formats.protobuf.message_indexes import write_confluent_indexes

Encoding = Literal["json", "avro", "protobuf"]
HUNDRED = tuple(f"{kind}_{number:02d}" for kind in KINDS for number in range(20))
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "kind", "type": "string"},
            {"name": "account", "type": "string"},
            {"name": "quantity", "type": "int"},
            {"name": "price", "type": "double"},
            {"name": "paid", "type": "boolean"},
            {"name": "city", "type": "string"},
            {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
)
PROTOBUF = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  string kind = 2;
  string account = 3;
  int32 quantity = 4;
  double price = 5;
  bool paid = 6;
  string city = 7;
  google.protobuf.Timestamp placed = 8;
}
"""


def encoded(encoding: Encoding, kinds: int, schema: int) -> Callable[[int], Iterator[Record]]:
    """What makes so many records.

    Args:
        encoding: of their values.
        kinds: five, or a hundred.
        schema: the registry's number of the schema.
    """
    encode = {"json": str.encode, "avro": _avro(schema), "protobuf": _protobuf(schema)}[encoding]

    def records(count: int) -> Iterator[Record]:
        for number in range(count):
            yield Record(value=encode(_line(number, kinds)), partition=number % PARTITIONS)

    return records


def _line(number: int, kinds: int) -> str:
    line = order(number).decode()
    if kinds <= len(KINDS):
        return line
    before, _, after = line.partition('","account"')
    return f'{before}_{number * 48_271 % 2**31 // 11 % 20:02d}","account"{after}'


def _avro(schema: int) -> Callable[[str], bytes]:
    encoder, front = AvroEncoder(AVRO), write_frame(schema)

    def encode(line: str) -> bytes:
        fields = json.loads(line)
        fields["placed"] = round(datetime.fromisoformat(fields["placed"]).timestamp() * 1000)
        return front + encoder.encode(json.dumps(fields))

    return encode


def _protobuf(schema: int) -> Callable[[str], bytes]:
    encoder = ProtobufEncoder(compile_proto("order.proto", {"order.proto": PROTOBUF}))
    front = write_frame(schema) + write_confluent_indexes(encoder.indexes)
    return lambda line: front + encoder.encode(line)
