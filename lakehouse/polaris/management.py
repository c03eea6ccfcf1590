"""Polaris' management API, and what of its catalog API stands beside it: one request, one answer, one clear error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from http import HTTPStatus
from typing import Any, Literal, TypeVar
from urllib.parse import quote, unquote, unquote_plus

import msgspec
from requests import RequestException, Response, Session

from lakehouse.errors import LakehouseError
from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.protocol.catalog.rest_catalog.rest_session import silence_of
from lakehouse.protocol.catalog.rest_catalog.timeouts import patient
from lakehouse.settings.secret import revealed

MANAGEMENT, CATALOG = ("api", "management", "v1"), ("api", "catalog")
Method = Literal["GET", "HEAD", "POST", "PUT", "DELETE"]
_LONGEST = 300  # characters of a server's own words
_Answer = TypeVar("_Answer")


class PolarisRefused(LakehouseError):
    """Polaris does not answer, or answers with a no."""


class PolarisUnclear(PolarisRefused):
    """Whether Polaris has done what was asked, nobody knows: there is no answer, or none that says so."""


class _Error(msgspec.Struct):
    message: str = ""
    type: str = ""


class _ErrorBody(msgspec.Struct):
    error: _Error | str = ""
    error_description: str = ""


class _Token(msgspec.Struct):
    access_token: str


@dataclass(frozen=True)
class PolarisRequest:
    """A request, before it is sent.

    Attributes:
        method: of HTTP.
        path: its segments, as they are; what is not allowed in an address is quoted.
        body: JSON.
        query: parameters.
        confidential: whether a secret is made; then no word of an answer that may know it is repeated.
    """

    method: Method
    path: tuple[str, ...]
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    confidential: bool = False

    @property
    def address(self) -> str:
        """The path below the server."""
        return "/".join(quote(segment, safe="") for segment in self.path)


def management(
    method: Method, *path: str, body: Mapping[str, Any] | None = None, confidential: bool = False
) -> PolarisRequest:
    """A request to the management API."""
    return PolarisRequest(method, (*MANAGEMENT, *path), body, confidential=confidential)


class PolarisApi:
    """One server, as one principal.

    Args:
        server: where it is.
        credential: `id:secret`; that of the file if none is given.
    """

    def __init__(self, server: PolarisServer, credential: str | None = None) -> None:
        self._server = server
        self._credential = credential
        self._secrets: list[str] = []
        self._session = Session()
        self._session.headers["Polaris-Realm"] = server.realm
        patient(self._session)

    @property
    def client_id(self) -> str:
        """Who logs in, by what is no secret of it."""
        return (self._credential or revealed(self._server.credential)).partition(":")[0]

    def ask(self, request: PolarisRequest, answer: type[_Answer]) -> _Answer:
        """Send a request, and read what comes back.

        Raises:
            PolarisRefused: there is no answer, or none of this kind.
        """
        response = self._sent(request)
        self._require(response, request)
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.MsgspecError:
            what = f"{request.method} /{request.address}"
        # Raised outside the handler: the error would quote the answer, in which a secret may be.
        raise PolarisUnclear(
            f"{self._server.uri}: the answer to {what} is none of Polaris.",
            remedy="correct `uri`: the server alone, without /api/catalog",
        )

    def tell(self, request: PolarisRequest) -> None:
        """Send a request whose answer says nothing.

        Raises:
            PolarisRefused: there is no answer, or a no.
        """
        self._require(self._sent(request), request)

    def has(self, request: PolarisRequest) -> bool:
        """Whether something is there; 404 says that it is not.

        Raises:
            PolarisRefused: there is no answer, or another no.
        """
        response = self._sent(request)
        if response.status_code == HTTPStatus.NOT_FOUND and "MissingOrInvalidRealm" not in response.text:
            return False
        self._require(response, request)
        return True

    def _sent(self, request: PolarisRequest) -> Response:
        if "Authorization" not in self._session.headers:
            self._log_in()
        url = f"{self._server.uri}/{request.address}"
        return self._answered(
            lambda: self._session.request(
                request.method, url, json=request.body, params=request.query or None, allow_redirects=False
            )
        )

    def _answered(self, send: Callable[[], Response]) -> Response:
        try:
            return send()
        except RequestException as error:
            why = silence_of(error)
        # Raised outside the handler: the error may hold the request, and so the secret.
        raise PolarisUnclear(
            f"{self._server.uri} does not answer: {why}.", remedy="correct `uri`, or look whether Polaris runs"
        )

    def _log_in(self) -> None:
        client, colon, secret = (self._credential or revealed(self._server.credential)).partition(":")
        if not (client and colon and secret):
            raise PolarisRefused(
                "The credential is not id:secret.", remedy="write the client id, a colon and the client secret"
            )
        self._secrets = [secret]
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": self._server.scope,
        }
        url = self._server.oauth2_server_uri or f"{self._server.uri}/{'/'.join(CATALOG)}/v1/oauth/tokens"
        response = self._answered(lambda: self._session.post(url, data=form, allow_redirects=False))
        if response.status_code != HTTPStatus.OK:
            raise PolarisRefused(
                f"{self._server.uri} gives no token for the credential ({self._words(response)}).",
                remedy="look whether the secret was rotated, whether the principal is of the realm "
                f"{self._server.realm}, and at scope",
            )
        try:
            token = msgspec.json.decode(response.content, type=_Token).access_token
        except msgspec.MsgspecError:
            token = ""
        if not token:
            raise PolarisRefused(f"{url} answers with no token.", remedy="correct `uri`, or write oauth2_server_uri")
        self._secrets.append(token)
        self._session.headers["Authorization"] = f"Bearer {token}"

    def _require(self, response: Response, request: PolarisRequest) -> None:
        if response.ok and not response.is_redirect:
            return
        remedies: dict[int, str] = {
            HTTPStatus.UNAUTHORIZED: "log in anew: tokens end after an hour",
            HTTPStatus.FORBIDDEN: "use a principal with the role service_admin: nothing less may manage principals",
            HTTPStatus.NOT_FOUND: "look at `realm` and `uri`, and whether somebody removes at this moment",
            HTTPStatus.CONFLICT: "somebody else changes it at this moment: plan again",
        }
        status = response.status_code
        unclear = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        words = str(status) if unclear and request.confidential else self._words(response)
        refused = PolarisUnclear if unclear else PolarisRefused
        raise refused(
            f"{self._server.uri} refuses {request.method} /{request.address} ({words}).",
            remedy=remedies.get(status, "see the log of Polaris"),
        )

    def _words(self, response: Response) -> str:
        """Status, and what the server says; without what we have told it in confidence."""
        try:
            body = msgspec.json.decode(response.content, type=_ErrorBody)
        except msgspec.MsgspecError:
            return str(response.status_code)
        error = body.error if isinstance(body.error, _Error) else _Error(body.error_description, body.error)
        words = " ".join(word for word in (str(response.status_code), f"{error.type}:", error.message) if word != ":")
        for secret in self._secrets:
            words = words.replace(secret, "…")
        plain = unquote_plus(unescape(f"{words} {unquote(words)}"))
        if any(secret in plain for secret in self._secrets):
            return str(response.status_code)
        return " ".join(words.split())[:_LONGEST]
