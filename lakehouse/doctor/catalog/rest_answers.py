"""An Iceberg REST catalog, asked directly: what it answers, and not what a client makes of that.

Iceberg REST specification: `/v1/oauth/tokens`, `/v1/config`, `/v1/{prefix}/namespaces`, and tables below.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Literal
from urllib.parse import quote

import msgspec
import requests

from lakehouse.protocol.catalog.rest_catalog.rest_session import refuse_elsewhere
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.keys import DELEGATION
from lakehouse.settings.catalogs.properties import python_properties

_PATIENCE = (10, 60)  # seconds: to connect, and for an answer
_SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "n", "required": False, "type": "long"}]}
_OTHER_LOGINS = ("auth", "rest.sigv4-enabled")


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Body(msgspec.Struct):
    error: _Error | str = ""
    error_description: str = ""


class _Token(msgspec.Struct):
    access_token: str = ""


class _Config(msgspec.Struct):
    defaults: dict[str, str] = {}
    overrides: dict[str, str] = {}


class _Credentials(msgspec.Struct):
    config: dict[str, str] = {}


class _Metadata(msgspec.Struct):
    location: str = ""


class LoadedTable(msgspec.Struct, rename="kebab"):
    """What the catalog says of a table (`LoadTableResult`)."""

    metadata: _Metadata
    config: dict[str, str] = {}
    storage_credentials: list[_Credentials] = []

    @property
    def properties(self) -> dict[str, str]:
        """Its storage, and the credentials that it lends."""
        return {
            **self.config,
            **{key: value for lent in self.storage_credentials for key, value in lent.config.items()},
        }


@dataclass(frozen=True)
class RestAnswer:
    """An answer that is none of those that were hoped for, or the body of one that is.

    Attributes:
        status: of HTTP.
        kind: the error's type.
        words: the error's message. It may repeat a secret: it is matched, and never shown.
        body: of an answer that is well.
        seconds_ahead: how far our clock is ahead of the server's; None if it says no time.
    """

    status: int
    kind: str
    words: str = field(repr=False)
    body: bytes = field(repr=False)
    seconds_ahead: float | None

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status < HTTPStatus.BAD_REQUEST


class RestAnswers:
    """One catalog, by its settings."""

    def __init__(self, settings: CatalogSettings) -> None:
        self._properties = python_properties(settings)
        self._uri = self._properties["uri"].rstrip("/")
        self._session = requests.Session()
        self._session.hooks["response"].append(refuse_elsewhere)
        for key, value in self._properties.items():
            if key.startswith("header.") and value and key != DELEGATION:
                self._session.headers[key.removeprefix("header.")] = value
        # As PyIceberg does, which asks for credentials by itself.
        delegation = self._properties.get(DELEGATION, "vended-credentials")
        self._delegation = {DELEGATION.removeprefix("header."): delegation} if delegation else {}
        self._prefix = ""
        if token := self._properties.get("token"):
            self._session.headers["Authorization"] = f"Bearer {token}"

    @property
    def has_other_login(self) -> bool:
        """Whether requests are signed, or a class of the user's logs in: then only PyIceberg can ask."""
        return any(key.split(".")[0] == "auth" or key in _OTHER_LOGINS for key in self._properties)

    def log_in(self) -> RestAnswer | None:
        """Ask for a token by client credentials; None if none is wanted.

        Raises:
            RequestException: nobody answers.
        """
        credential = self._properties.get("credential")
        if credential is None or "token" in self._properties:
            return None
        client, _, secret = credential.partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": self._properties.get("scope", "catalog"),
        }
        url = self._properties.get("oauth2-server-uri", f"{self._uri}/v1/oauth/tokens")
        answer = _answer(self._session.post(url, data=form, timeout=_PATIENCE))
        if answer.ok:
            try:
                token = msgspec.json.decode(answer.body, type=_Token).access_token
            except msgspec.MsgspecError:
                token = ""
            if not token:  # a page of somebody else, such as a portal's form to log in
                return replace(answer, status=int(HTTPStatus.NOT_FOUND), kind="no token")
            self._session.headers["Authorization"] = f"Bearer {token}"
        return answer

    def configure(self) -> RestAnswer:
        """Ask for the catalog's configuration, and take its prefix over.

        Raises:
            RequestException: nobody answers.
        """
        parameters = {"warehouse": self._properties["warehouse"]}
        answer = _answer(self._session.get(f"{self._uri}/v1/config", params=parameters, timeout=_PATIENCE))
        if answer.ok:
            try:
                config = msgspec.json.decode(answer.body, type=_Config)
            except msgspec.MsgspecError:
                return RestAnswer(int(HTTPStatus.NOT_FOUND), "no catalog", "", b"", answer.seconds_ahead)
            self._prefix = config.overrides.get("prefix", config.defaults.get("prefix", ""))
        return answer

    def make_namespace(self, name: str) -> RestAnswer:
        """Create a namespace."""
        return self._ask("POST", "namespaces", {"namespace": [name], "properties": {}})

    def drop_namespace(self, name: str) -> RestAnswer:
        """Drop it; it has to be empty."""
        return self._ask("DELETE", f"namespaces/{quote(name)}")

    def make_table(self, namespace: str, name: str) -> RestAnswer:
        """Create a table of one column, and ask for a credential of it."""
        path = f"namespaces/{quote(namespace)}/tables"
        return self._ask("POST", path, {"name": name, "schema": _SCHEMA}, self._delegation)

    def drop_table(self, namespace: str, name: str) -> RestAnswer:
        """Drop it; its files stay, if the catalog does not remove them."""
        return self._ask("DELETE", f"namespaces/{quote(namespace)}/tables/{quote(name)}?purgeRequested=false")

    def storage(self, table: LoadedTable) -> dict[str, str]:
        """How its files are reached: as the settings say, and as the catalog does, which counts more."""
        return {**self._properties, **table.properties}

    def _ask(
        self,
        method: Literal["POST", "DELETE"],
        path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> RestAnswer:
        prefix = f"{quote(self._prefix)}/" if self._prefix else ""
        url = f"{self._uri}/v1/{prefix}{path}"
        data = None if body is None else msgspec.json.encode(body)
        sent = {"Content-Type": "application/json", **(headers or {})}
        return _answer(self._session.request(method, url, data=data, headers=sent, timeout=_PATIENCE))


def _answer(response: requests.Response) -> RestAnswer:
    kind = words = ""
    if not response.ok:
        try:
            body = msgspec.json.decode(response.content, type=_Body)
        except msgspec.MsgspecError:
            words = response.text
        else:
            kind, words = (
                (body.error, body.error_description)
                if isinstance(body.error, str)
                else (body.error.type, body.error.message)
            )
    return RestAnswer(response.status_code, kind, words, response.content, _ahead(response))


def _ahead(response: requests.Response) -> float | None:
    """Our clock against the header `Date`, in the middle of the time that the answer took."""
    try:
        theirs = parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return None
    return time.time() - response.elapsed.total_seconds() / 2 - theirs
