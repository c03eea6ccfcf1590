"""Does Kafka answer, and are the addresses that it gives for its brokers known here?"""

from collections.abc import Iterator

from lakehouse.doctor.finding import Diagnosis, refused, well
from lakehouse.doctor.machine.addresses import address
from lakehouse.engines.kafka.connection import Connection
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings


def brokers(settings: Settings) -> Iterator[Diagnosis]:
    """A cluster that is not ours to start."""
    if settings.kafka.local:
        return
    try:
        with Connection(settings.kafka) as connection:
            known = connection.metadata().brokers.values()
    except LakehouseError as error:
        yield refused("kafka", error)
        return
    yield well("kafka", f"{len(known)} brokers answer or are named")
    for broker in known:
        yield from address(
            "kafka", f"advertised.listeners of broker {broker.id}", f"kafka://{broker.host}:{broker.port}"
        )
