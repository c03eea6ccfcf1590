"""A port that a stranger holds is refused with words that can be typed."""

import socket

import pytest

from lakehouse.cli.processes.dagster_services import HOST, DevFailed, require_free


def test_a_port_that_is_taken_is_refused_with_the_command_for_another() -> None:
    with socket.socket() as stranger:
        stranger.bind((HOST, 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        with pytest.raises(DevFailed, match=rf"Port {port} is taken.*`lakehouse dev --port N`"):
            require_free(port)
