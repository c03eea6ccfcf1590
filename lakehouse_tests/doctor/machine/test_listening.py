import socket

import pytest

from lakehouse.doctor.machine.listening import silence


def test_a_server_that_listens_is_not_silent() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert silence(*server.getsockname()) is None


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("127.0.0.1", 1, "connection refused"),
        ("nosuch..host", 1, "nobody knows its name"),
        ("127.0.0.1", 99999, "there is no such port"),
    ],
)
def test_why_no_connection_comes_about(host: str, port: int, reason: str) -> None:
    assert silence(host, port) == reason


def test_a_name_that_nobody_knows_and_a_server_that_takes_no_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, reason in ((socket.gaierror(), "nobody knows its name"), (TimeoutError(), "it was waited for too long")):

        def refuse(*_: object, error: OSError = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(socket, "create_connection", refuse)
        assert silence("spark.example.com", 7077) == reason
