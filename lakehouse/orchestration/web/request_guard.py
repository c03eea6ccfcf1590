"""Which requests to Dagster's web server are answered: those that no other web page can have sent.

A browser sends requests for any page that is open in it, also to 127.0.0.1. It says for whom in `Origin` and
`Sec-Fetch-Site`; a page whose name was pointed at this machine (DNS rebinding) shows in `Host`. What changes something
has to be JSON besides: a page of another origin cannot send that without asking first, and is never answered yes.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_READS = ("GET", "HEAD")
_OWN_SITE = ("same-origin", "none")  # none: typed by a person, or a bookmark
_SCHEMES = ("http", "https")
_POLICY_VIOLATION = 1008


class RequestGuard:
    """ASGI middleware: refuses with 403 what may come from another web page, before Dagster sees it."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        """Guard an application.

        Args:
            app: that answers what is not refused.
            hosts: names by which the server may be called, without port.
        """
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):  # the server's own start and end
            await self._app(scope, receive, send)
        elif not (reason := reason_to_refuse(scope, self._hosts)):
            await self._app(scope, receive, _unframed(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})
        else:
            await PlainTextResponse(f"Refused: {reason}\n", status_code=403)(scope, receive, send)


def reason_to_refuse(scope: Scope, hosts: Collection[str]) -> str:
    """Why a request is not answered, and what would be; empty if it is.

    Args:
        scope: of the request, as ASGI gives it.
        hosts: names by which the server may be called, without port.
    """
    headers = Headers(scope=scope)
    method = scope.get("method", "GET")
    named = headers.getlist("host")
    if len(named) != 1 or _hostname(named[0]) not in hosts:
        return f"this server is called by {', '.join(sorted(hosts))} alone; use one of these in the address."
    origins = headers.getlist("origin")
    if len(origins) > 1 or (origins and not _same_origin(origins[0], named[0])):
        return "it comes from another web page; open the page of this server itself."
    sites = set(headers.getlist("sec-fetch-site"))
    if not sites.issubset(_OWN_SITE) and not (scope["type"] == "http" and method in _READS and _is_link(headers)):
        return "it comes from another web page; open the page of this server itself."
    if scope["type"] == "http" and method not in _READS and not _is_json(headers):
        return "what may change something has to be sent as content-type application/json."
    return ""


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and parts.netloc.lower() == host.lower()


def _is_link(headers: Headers) -> bool:
    """Whether a person follows a link: the page opens in a tab of its own, and the other sees nothing of it."""
    return headers.getlist("sec-fetch-mode") == ["navigate"] and headers.getlist("sec-fetch-dest") == ["document"]


def _is_json(headers: Headers) -> bool:
    """Whether the body is sent as JSON; Dagster also takes `text/plain; application/json`, which any page can send."""
    kinds = headers.getlist("content-type")
    return len(kinds) == 1 and kinds[0].partition(";")[0].strip().lower() == "application/json"


def _unframed(send: Send) -> Send:
    """Let no other page show ours in a frame, where a person would click what they do not see."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("x-frame-options", "SAMEORIGIN")
        await send(message)

    return sending
