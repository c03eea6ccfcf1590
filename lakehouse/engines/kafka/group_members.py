"""Who is in a consumer group: a writer that still runs goes on committing, so nobody can take over from it."""

from lakehouse.engines.kafka.connection import Connection
from lakehouse.engines.kafka.topics import patient
from lakehouse.settings import KafkaSettings


@patient
def group_members(kafka: KafkaSettings, group: str) -> tuple[str, ...]:
    """The client ids of a group's members; empty for a group that nobody is in.

    Raises:
        BrokerUnreachable: no broker answered.
        KafkaForbidden: we may not describe the group.
    """
    with Connection(kafka) as connection:
        future = connection.admin.describe_consumer_groups([group], request_timeout=connection.timeout)[group]
        return tuple(sorted(member.client_id for member in connection.answer(future).members))
