"""The two servers that a lakehouse on this machine may have, as the settings want them."""

from typing import TYPE_CHECKING

from lakehouse.cli.context import Context
from lakehouse.engines.kafka import LocalBroker
from lakehouse.settings import KafkaSettings, Settings

if TYPE_CHECKING:
    from lakehouse.engines.spark.connect.server import ConnectServer


def local_broker(context: Context) -> LocalBroker | None:
    """The broker, if the settings ask for one of our own."""
    return LocalBroker.of(context.settings) if context.settings.kafka.local else None


def own_kafka(settings: Settings) -> KafkaSettings:
    """How Kafka is reached by a verb that starts none; a broker of our own is one that this lakehouse has started.

    Raises:
        BrokerFailed: Another process listens at its port.
    """
    # One that is elsewhere, whatever the file says of it, was started by somebody else.
    if settings.kafka.local and settings.kafka.bootstrap_servers.startswith(("127.0.0.1:", "localhost:")):
        LocalBroker.of(settings).require_own()
    return settings.kafka


def connect_server(context: Context) -> "ConnectServer":
    """The Spark Connect server of the selected platform, or of the platform `connect` if the selected one has none.

    Raises:
        SettingsError: There is no platform `connect`.
        ConnectServerFailed: The platform's server is elsewhere.
    """
    from lakehouse.engines.spark.connect.server import ConnectServer  # it imports PySpark, which most verbs do without

    settings = context.settings
    return ConnectServer(settings if settings.platform.mode == "connect" else context.settings_of_platform("connect"))


def connect_server_here(context: Context) -> "ConnectServer | None":
    """The same, or None if no such server could be ours: there is none to ask for or to stop."""
    from lakehouse.engines.spark.connect.server import ConnectServerFailed

    settings = context.settings
    if settings.platform.mode != "connect" and not (settings.conf / "platforms" / "connect.yaml").is_file():
        return None
    try:
        return connect_server(context)
    except ConnectServerFailed:
        return None
