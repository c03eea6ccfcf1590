"""A session with a REST catalog: no answer is taken for another's, and none brings the server's own words along.

A server's words may repeat a secret that it was sent, and errors travel: to logs, to Dagster's events, to a screen. So
they are cut where they arrive, before PyIceberg makes an exception of them.
"""

import json
import os
import socket
import ssl
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin, urlsplit

from pyiceberg.catalog.rest import TableResponse
from pyiceberg.catalog.rest.response import TokenResponse
from requests import RequestException, Response, Session, Timeout

from lakehouse.errors import with_causes
from lakehouse.protocol.catalog.rest_catalog.rest_responses import error_of, stale_snapshot
from lakehouse.protocol.catalog.rest_catalog.timeouts import patient

_ASKED_ANEW = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND, HTTPStatus.SEE_OTHER)


class RedirectedElsewhere(RequestException):
    """What answers is no answer to what was asked: it names another address, or announces an answer to come."""


def guard(session: Session) -> None:
    """Make a session patient, and look at each answer before anybody reads it."""
    patient(session)
    session.hooks["response"] += [refuse_elsewhere, _without_words]


def hide_lent_keys() -> None:
    """Let errors about an answer that is none show nothing of it: it holds keys of the store, or a token."""
    for kind in (TableResponse, TokenResponse):
        if not kind.model_config.get("hide_input_in_errors"):
            kind.model_config["hide_input_in_errors"] = True
            kind.model_rebuild(force=True)


def refuse_elsewhere(response: Response, **_: Any) -> None:
    """Refuse an answer after which another would be read in its place, or a secret sent to somebody else.

    After 301 to 303 a client asks by GET (RFC 9110, 15.4), and what that finds would be taken for what was done. To
    another host it repeats a login, or headers that are one. After a status below 200 the true answer follows, and
    would be read as that of the next request.

    Raises:
        RedirectedElsewhere: it is such an answer.
    """
    if response.status_code < HTTPStatus.OK:
        response.close()  # with its connection, on which the true answer comes
        raise RedirectedElsewhere(f"it answered {response.status_code}, which is no answer")
    changes_something = response.request.method not in ("GET", "HEAD")
    if (response.status_code in _ASKED_ANEW and changes_something) or _is_of_another_host(response):
        response.close()
        raise RedirectedElsewhere(f"it answered {response.status_code}, and names another address")


def _is_of_another_host(response: Response) -> bool:
    if not response.is_redirect:
        return False
    here = urlsplit(response.url)
    there = urlsplit(urljoin(response.url, response.headers["location"]))
    is_secured = (here.scheme, there.scheme) == ("http", "https") and here.hostname == there.hostname
    return not is_secured and (here.scheme, here.netloc) != (there.scheme, there.netloc)


def _without_words(response: Response, **_: Any) -> None:
    """Leave of a refusal its status and the kind of error, in the form that it was in."""
    status = response.status_code
    if status < HTTPStatus.BAD_REQUEST:
        return
    kind, of_oauth = error_of(response)
    words = stale_snapshot(response) or f"the catalog answered {status}"
    error = kind if of_oauth else {"message": words, "type": kind or "RESTException", "code": status}
    response._content = json.dumps({"error": error}).encode()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    response.encoding = "utf-8"
    response.reason = next((known.phrase for known in HTTPStatus if known == status), "")


def silence_of(silent: Exception) -> str:
    """Why a server gives no answer, by the innermost error that says so."""
    for cause in reversed(list(with_causes(silent))):
        match cause:
            case socket.gaierror():
                return "nobody knows its name"
            case ssl.SSLError():
                return f"TLS: {(cause.reason or 'no connection').replace('_', ' ').lower()}"
            case RedirectedElsewhere():
                return str(cause)
            case Timeout() | TimeoutError():
                return "it was waited for too long"
            case OSError(errno=int(number)):
                return os.strerror(number).lower()
            case _:
                continue
    return type(silent).__name__
