import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from lakehouse.engines.jars import JarMismatch
from lakehouse.engines.kafka import BrokerFailed, LocalBroker, PartitionRange, Record, create_topic, read_topic, send
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse.settings.state import StateFolder
from lakehouse_tests.fixtures.broker import BROKER_LOCK, REPOSITORY

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def local(empty_state: StateFolder):
    local = LocalBroker(empty_state, BROKER_LOCK)
    yield local
    local.stop()


def test_a_broker_keeps_its_address_and_its_records_through_stop_and_kill(local: LocalBroker, empty_state: StateFolder):
    assert not local.running()
    assert local.start() is True
    state = create_topic(local.settings, "kept", 1)
    send(local.settings, "kept", [Record(b"1"), Record(b"2")])

    same = LocalBroker(empty_state, BROKER_LOCK)  # as another command would see it
    assert same.start() is False
    assert same.settings == local.settings
    assert same.stop() is True
    assert not local.running()
    assert local.stop() is False

    local.start()
    assert local.pid is not None
    assert local.answers(timeout=5)
    os.kill(local.pid, signal.SIGSTOP)
    assert local.running()
    assert not local.answers(timeout=0.5)
    os.kill(local.pid, signal.SIGKILL)
    assert local.start() is True
    after = read_topic(local.settings, "kept")
    assert after.partitions == {0: PartitionRange(0, 2)}
    assert (after.topic_id, after.cluster_id) == (state.topic_id, state.cluster_id)
    send(local.settings, "kept", [Record(b"3")])


def test_two_starts_at_once_start_one_broker(local: LocalBroker, empty_state: StateFolder):
    other = LocalBroker(empty_state, BROKER_LOCK, port=local.port)
    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(LocalBroker.start, [local, other])) == [False, True]


def test_it_listens_on_loopback_alone(local: LocalBroker):
    local.start()
    listening = [
        connection
        for connection in psutil.Process(local.pid).net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert local.port in {connection.laddr.port for connection in listening}
    assert {connection.laddr.ip for connection in listening} <= {"127.0.0.1", "::ffff:127.0.0.1"}


def test_a_process_number_that_was_reused_is_not_our_broker(local: LocalBroker, empty_state: StateFolder):
    empty_state.kafka.mkdir()
    (empty_state.kafka / "broker.pid").write_text(f"{os.getpid()} 1\n")
    assert not local.running()
    assert local.stop() is False  # and we are still alive to say so


def test_a_taken_port_is_named_with_the_remedy(empty_state: StateFolder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BrokerFailed, match=f"Port {port} .*LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS"):
            LocalBroker(empty_state, BROKER_LOCK, port=port).start()


def test_other_jars_than_the_locked_ones_are_not_started(empty_state: StateFolder, tmp_path: Path):
    lock = tmp_path / "jars.sha256"
    lock.write_text(BROKER_LOCK.read_text().replace("0", "1", 1))
    with pytest.raises(JarMismatch):
        LocalBroker(empty_state, lock).start()


def test_a_running_broker_is_not_looked_for_at_another_port(local: LocalBroker, empty_state: StateFolder):
    local.start()
    with pytest.raises(BrokerFailed, match=f"runs on port {local.port}, not on 1"):
        LocalBroker(empty_state, BROKER_LOCK, port=1).start()


def test_a_broker_that_ends_at_once_says_why(local: LocalBroker, empty_state: StateFolder):
    local.start()
    local.stop()
    meta = empty_state.kafka / "data" / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=7"))
    with pytest.raises(BrokerFailed, match=r"ended right after its start: .*node id 7"):
        local.start()


def test_the_settings_of_the_product_name_its_broker(tmp_path: Path):
    settings = load_settings(REPOSITORY / "conf", {"LAKEHOUSE_HOME": str(tmp_path)})
    assert LocalBroker.of(settings).bootstrap_servers == settings.kafka.bootstrap_servers
    foreign = KafkaSettings(bootstrap_servers="kafka.example:9092")
    with pytest.raises(BrokerFailed, match=r"kafka\.example:9092 is not a local broker"):
        LocalBroker.of(settings.model_copy(update={"kafka": foreign}))
