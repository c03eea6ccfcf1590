"""Does anybody listen at an address? A connection is opened, and nothing is sent."""

import socket

from lakehouse.protocol.catalog.rest_catalog.rest_session import silence_of

_SECONDS = 5.0
_LAST_PORT = 65535


def silence(host: str, port: int) -> str | None:
    """Why no connection comes about; None where it does.

    Args:
        host: a name, or an address without brackets.
        port: of a server there.
    """
    if not 0 < port <= _LAST_PORT:  # of a number that is too large the system takes a part
        return "there is no such port"
    try:
        with socket.create_connection((host, port), timeout=_SECONDS):
            return None
    except UnicodeError:  # what no name can be
        return "nobody knows its name"
    except OSError as error:
        return silence_of(error)
