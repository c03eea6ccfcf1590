"""Asking the cluster something: an admin client, and its failures in words that name the broker and the topic."""

import logging
import re
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from types import TracebackType
from typing import Self, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,  # pyright: ignore[reportPrivateImportUsage]
)
from pydantic import SecretStr

from lakehouse.engines.kafka.clients import client_config, is_secret
from lakehouse.engines.kafka.security.msk_iam import TokenCallback
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings

TIMEOUT = 5.0  # seconds a question may take: a sensor asks often, and a broker that is slower than this is down

# librdkafka writes to stderr unless it is given a logger: its lines are for the curious, our errors for users.
LIBRDKAFKA_LOG = logging.getLogger("lakehouse.librdkafka")
LIBRDKAFKA_LOG.setLevel(logging.CRITICAL)

# Answers of a cluster whose leaders are just changing.
BUSY = {
    KafkaError._PARTIAL,  # noqa: SLF001  (an answer without a broker: the one that gave it is starting)
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NOT_CONTROLLER,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LISTENER_NOT_FOUND,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}

# How librdkafka, and the broker through it, say that a login failed: credentials, certificates, a token endpoint.
LOGIN = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001
    KafkaError._SSL,  # noqa: SLF001
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
}
FORBIDDEN = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}

Answer = TypeVar("Answer")

_ALERT = re.compile(r"(tls|ssl)v?\S* alert", re.IGNORECASE)
_TIMING = re.compile(r" \(after \d+ms in state .*\)$")


class BrokerUnreachable(LakehouseError):
    """No broker answered in time, or it did not let us in."""


class KafkaLoginRefused(BrokerUnreachable):
    """A broker is there, and does not let us in: credentials or certificates are not those that it wants."""


class TopicMissing(LakehouseError):
    """The cluster has no such topic."""


class KafkaBusy(LakehouseError):
    """The cluster cannot answer just now, a leader election for instance: worth asking again."""


class KafkaRefused(LakehouseError):
    """The cluster answered with an error that asking again does not mend."""


class KafkaForbidden(KafkaRefused):
    """We are let in, and the cluster's access lists do not allow what is asked."""


class ClientRefused(LakehouseError):
    """A property of the client is misspelt, or has a value that it cannot have."""


class Connection:
    """An admin client that remembers why it cannot connect; in a `with`, which ends it.

    Not by garbage collection: that may happen in a thread of librdkafka's, which then aborts the process
    (https://github.com/confluentinc/confluent-kafka-python/pull/2131).
    """

    def __init__(self, kafka: KafkaSettings, *, timeout: float = TIMEOUT) -> None:
        self._kafka = kafka
        self.servers = kafka.bootstrap_servers
        self.timeout = timeout
        self._trouble: KafkaError | None = None
        config: dict[str, str | int | float | bool | TokenCallback | Callable[[KafkaError], None]] = {
            **client_config(kafka),
            "error_cb": self._remember,
            "socket.connection.setup.timeout.ms": 5000,
        }
        try:
            self.admin = AdminClient(config, logger=LIBRDKAFKA_LOG)  # pyright: ignore[reportArgumentType]
        except KafkaException as error:
            reason = _without_values(error.args[0].str(), kafka)
        else:
            return
        # Raised outside the handler: librdkafka's own words would travel along, and repeat what was typed.
        raise ClientRefused(
            f"The Kafka client does not take its properties: {reason}.",
            remedy="correct them in the chosen file of conf/kafka; a property for Java alone begins with java.",
        )

    def __enter__(self) -> Self:
        self.admin.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.admin.__exit__(kind, error, trace)

    def answer(self, future: "Future[Answer]", *, topic: str = "") -> Answer:
        """Wait for one answer.

        Raises:
            BrokerUnreachable: Nobody answered, or we were not let in.
            TopicMissing: The topic does not exist.
            KafkaBusy: A leader is changing.
            KafkaRefused: Any other error.
        """
        try:
            return future.result(timeout=self.timeout + 5)
        except FutureTimeout:
            raise self._unreachable(topic, None) from None
        except KafkaException as error:
            raise self.explained(error.args[0], topic) from error

    def metadata(self, topic: str | None = None) -> ClusterMetadata:
        """The cluster's id and brokers, and a topic that exists, or all of them.

        Not by `describe_cluster`: while a broker starts it answers without any broker, and librdkafka 2.16 then aborts
        the process (`rd_kafka_admin_response_parse: Assertion 'rko_result' failed`).

        Raises:
            BrokerUnreachable: Nobody answered, or we were not let in.
            KafkaBusy: The broker that answered is starting, and knows none yet.
            KafkaRefused: Any other error.
        """
        try:
            metadata = self.admin.list_topics(**({"topic": topic} if topic else {}), timeout=self.timeout)
        except KafkaException as error:
            raise self.explained(error.args[0], topic or "") from error
        if not metadata.brokers:
            raise KafkaBusy(f"Kafka at {self.servers} knows of no broker yet.")
        return metadata

    def explained(self, error: KafkaError, topic: str) -> LakehouseError:
        """The error of ours that says what librdkafka's error says."""
        code, about = error.code(), f" about topic {topic}" if topic else ""
        if code in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_ID}:  # noqa: SLF001
            return TopicMissing(
                f"Topic {topic} does not exist on the Kafka cluster at {self.servers}.",
                remedy="create it, or correct its name in the stream's declaration or in the command.",
            )
        if code in {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}:  # noqa: SLF001
            return self._unreachable(topic, error)
        if code in LOGIN:
            return self._login_refused(error)
        text = f"Kafka at {self.servers} answers{about}: {_without_values(error.str(), self._kafka)} ({error.name()})."
        if code in FORBIDDEN:
            prefix = self._kafka.group_prefix
            return KafkaForbidden(
                text,
                remedy=f"allow our user Describe and Read on the topic, and Read on groups that begin with {prefix}.",
            )
        return KafkaBusy(text) if code in BUSY else KafkaRefused(text)

    def _unreachable(self, topic: str, error: KafkaError | None) -> BrokerUnreachable:
        self.admin.poll(0)  # librdkafka's own explanation, if it has one, arrives by callback
        trouble = self._trouble or error
        # Under TLS 1.3 a certificate is refused after the handshake: to librdkafka a connection that broke.
        if trouble is not None and (trouble.code() in LOGIN or _ALERT.search(trouble.str())):
            return self._login_refused(trouble)
        return BrokerUnreachable(
            f"No Kafka broker answers at {self.servers}{f' (asked for topic {topic})' if topic else ''}: "
            f"{self._reason(trouble)}.",
            remedy="start it (`lakehouse up` for the local one), or correct its settings in conf/kafka.",
        )

    def _login_refused(self, error: KafkaError) -> KafkaLoginRefused:
        return KafkaLoginRefused(
            f"Kafka at {self.servers} does not let us in: {self._reason(error)}.",
            remedy="correct the login in the chosen file of conf/kafka, or what its references lead to.",
        )

    def _reason(self, error: KafkaError | None) -> str:
        """What librdkafka says, in one line; it may repeat what a token endpoint answered."""
        text = _TIMING.sub("", error.str()) if error is not None else "no answer"
        return " ".join(_without_values(text, self._kafka).split())

    def _remember(self, error: KafkaError) -> None:
        # "all brokers down" follows each real reason and says less.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self._trouble = error


def _without_values(text: str, kafka: KafkaSettings) -> str:
    """What librdkafka says of its configuration, without the values of properties that may be secret."""
    for name, value in client_config(kafka).items():
        if isinstance(value, str) and value and (is_secret(name) or isinstance(kafka.properties.get(name), SecretStr)):
            text = text.replace(value, "***")
    return text.rstrip(".")
