"""What the local broker is told: one node, nothing replicated, quick to come back after a kill."""

from pathlib import Path

# One node holds everything once; Kafka's defaults ask for three copies.
SINGLE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "num.partitions": "1",
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}

BEHAVIOUR = {
    # A topic comes into being by a decision, not by a typing error.
    "auto.create.topics.enable": "false",
    # A laptop's data stays until it is deleted; topics that want retention set it.
    "log.retention.ms": "-1",
    "group.initial.rebalance.delay.ms": "0",
    # After kill -9 the controller waits for the dead broker's session to end before it lets the new one in.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    # By itself the controller writes twice a second that nothing has happened.
    "metadata.max.idle.interval.ms": "0",
    # Each thread wakes up to see that there is nothing to do.
    "num.io.threads": "2",
    "num.network.threads": "1",
    "log.cleaner.dedupe.buffer.size": "16777216",
    # Retention and deletion are noticed within seconds, not minutes.
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
}


def server_properties(host: str, port: int, controller_port: int, data: Path) -> str:
    """The text of `server.properties`.

    Args:
        host: The address to listen on; loopback.
        port: Where clients connect.
        controller_port: Where the broker talks to its own controller half.
        data: The folder of its log.
    """
    client, controller = f"LOCAL://{host}:{port}", f"CONTROLLER://{host}:{controller_port}"
    network = {
        "listeners": f"{client},{controller}",
        "advertised.listeners": f"{client},{controller}",
        "listener.security.protocol.map": "LOCAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "LOCAL",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"{host}:{controller_port}",
        "log.dirs": str(data),
    }
    return "".join(f"{name}={value}\n" for name, value in {**network, **SINGLE_NODE, **BEHAVIOUR}.items())
