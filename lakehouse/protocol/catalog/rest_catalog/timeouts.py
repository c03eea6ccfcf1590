"""How long a REST catalog is waited for, and how often it is asked again: both bounded, for every call."""

from collections.abc import Callable
from functools import partial
from typing import Any

from requests import RequestException, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidHeader
from urllib3.util import Retry

# (connect, read): whoever hangs longer is silent. A commit has its own patience: its answer is worth more.
TIMEOUT_SECONDS = (10.0, 60.0)
_TRIES_MORE = 2
_BACKOFF_SECONDS = 0.5
_BUSY = (429, 502, 503, 504)
_READS = ("GET", "HEAD")


def patient(session: Session) -> None:
    """Give every request of a session a timeout, and repeat reads a few times where the catalog is busy or gone.

    What changes something is sent once: its answer may be lost after it was done.
    """
    retry = Retry(
        total=_TRIES_MORE,
        backoff_factor=_BACKOFF_SECONDS,
        status_forcelist=_BUSY,
        allowed_methods=_READS,
        respect_retry_after_header=False,  # a server must not say how long we wait
        raise_on_status=False,  # the last answer says more than that there was none
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    # Not in the adapter: one that signs requests takes its place.
    session.request = partial(_request, session.request)  # pyright: ignore[reportAttributeAccessIssue]


def _request(send: Callable[..., Response], *args: Any, **options: Any) -> Response:
    try:
        return send(*args, **{"timeout": TIMEOUT_SECONDS, **options})
    except ValueError as error:
        if isinstance(error, RequestException) and not isinstance(error, InvalidHeader):
            raise
    # Raised outside the handler: the error shows the header, which may be the token.
    raise InvalidHeader("a token, or a `header.…`, has a line break or a letter that no header takes")
