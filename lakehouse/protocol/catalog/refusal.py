"""A catalog that is away, or does not do what is asked: recognised at the root of whatever error that has become.

What drivers and HTTP clients say of it goes on for a hundred lines, and names neither the setting nor what to do. Of a
server's own words nothing is repeated: they may repeat a secret.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from traceback import walk_tb
from typing import Any, TypeVar, cast

from pydantic import ValidationError
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    CommitFailedException,
    ForbiddenError,
    NoSuchIdentifierError,
    NoSuchTableError,
    OAuthError,
    RESTError,
    ServiceUnavailableError,
    UnauthorizedError,
)
from requests import HTTPError, RequestException
from requests.exceptions import InvalidHeader
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from lakehouse.errors import LakehouseError, with_causes
from lakehouse.protocol.catalog.rest_catalog.rest_session import silence_of
from lakehouse.settings import CatalogSettings

_LONGEST = 300  # characters
_NOT_LET_IN = (UnauthorizedError, ForbiddenError, AuthorizationExpiredError, OAuthError)
_ELSEWHERE = "correct `uri` in its file of conf/catalogs"
_START = f"start it, or {_ELSEWHERE}"
_CREDENTIALS = "check what its file of conf/catalogs says of credentials, and what that refers to"
_IDENTITY = "check the region, AWS' identity here (`aws sts get-caller-identity`), and what it may do with Glue and S3"
_LATER = "run it again when the catalog is well; its own log says more"
_Kind = TypeVar("_Kind", bound=BaseException)


class CatalogUnreachable(LakehouseError):
    """The catalog does not answer."""


class CatalogRefused(LakehouseError):
    """The catalog answers, and does not do what is asked."""


class CatalogUnopened(LakehouseError):
    """The catalog cannot be opened with what its file says, or with what it answers."""


class TableMissing(LakehouseError, NoSuchTableError):
    """A table that is asked for does not exist."""


def catalog_refusal(error: BaseException, settings: CatalogSettings) -> LakehouseError | None:
    """What is the matter with the catalog, or with a table that it has not; None if an error is about neither.

    Args:
        error: with its causes.
        settings: of the catalog that was asked.
    """
    causes = list(with_causes(error))
    if missing := _first(causes, NoSuchTableError) or _first(causes, NoSuchIdentifierError):
        return TableMissing(
            f"{str(missing).rstrip('.')}.",
            remedy="create it with `lakehouse apply`, or name one that `lakehouse tables` shows",
        )
    if overtaken := _first(causes, CommitFailedException):
        return CatalogRefused(f"Another commit came first: {_short(str(overtaken))}.", remedy="run it again")
    kinds = (_of_database, _of_glue, _of_request, _of_server)
    return next((refusal for kind in kinds if (refusal := kind(causes, settings)) is not None), None)


def unopened(error: BaseException, settings: CatalogSettings) -> CatalogUnopened:
    """What is to be said of an error that nobody foresaw: its kind and where it arose, and never its text.

    Args:
        error: of opening the catalog.
        settings: of that catalog; keys of its file that the error is about are named.
    """
    keys = ", ".join(sorted(_keys_in(str(error), settings)))
    place = "".join(f" in {module}" for module in _modules(error)[-1:])
    return CatalogUnopened(
        f"The catalog at {address_of(settings)} cannot be opened: {type(error).__name__}{place}"
        f"{f', about {keys}' if keys else ''}.",
        remedy=f"correct {keys} in its file of conf/catalogs"
        if keys
        else "correct `uri` and `properties` in its file of conf/catalogs, or see the catalog's own log",
    )


def _modules(error: BaseException) -> list[str]:
    """The modules that an error has gone through, the one in which it arose last."""
    return [str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)]


def _keys_in(text: str, settings: CatalogSettings) -> set[str]:
    """The keys of a catalog's file that an error is about: it has their names, or their values in quotes."""
    values: list[tuple[str, object]] = [(f"properties.{key}", value) for key, value in settings.properties.items()]
    if settings.type == "sql":
        values += [("uri", value) for value in make_url(settings.address).query.values()]
    named = {f"properties.{key}" for key in settings.properties if f" {key} " in f"{text} "}
    return named | {key for key, value in values if isinstance(value, str) and value and repr(value) in text}


def address_of(settings: CatalogSettings) -> str:
    """Where a catalog is, without the login and the options that an address may hold.

    A password may have been written with `/` or `@` as they are: all up to the last `@` is left out.
    """
    if settings.type == "glue" and not settings.address:
        return f"AWS Glue{f', {settings.region}' if settings.region else ''}"
    if settings.type in ("rest", "glue"):
        return re.sub(r"//.*@", "//", re.split("[?#]", settings.address)[0])
    url = make_url(settings.address)
    if url.host is None:
        return url.database or "memory"
    return f"{url.host.rpartition('@')[2]}:{url.port or 5432}/{url.database}"


def _of_database(causes: Sequence[BaseException], settings: CatalogSettings) -> LakehouseError | None:
    error = _first(causes, DBAPIError)
    if error is None or settings.type != "sql":
        return None
    reason = _short(str(error.orig))
    if password := make_url(settings.address).password:
        reason = reason.replace(str(password), "***")
    where = f"The database {address_of(settings)} of the catalog"
    if "authentication failed" in reason:
        return CatalogRefused(f"{where} refuses our credentials: {reason}.", remedy=_CREDENTIALS)
    return CatalogUnreachable(f"{where} does not do what is asked: {reason}.", remedy=_START)


def _of_glue(causes: Sequence[BaseException], settings: CatalogSettings) -> LakehouseError | None:
    if settings.type != "glue":
        return None
    where = f"The catalog at {address_of(settings)}"
    # By name: AWS' client is of an extra, and imported only where it is used.
    ours = [cause for cause in causes if any(kind.__module__ == "botocore.exceptions" for kind in type(cause).__mro__)]
    for cause in ours:
        if isinstance(answer := getattr(cause, "response", None), dict):
            code = _short(str(cast("dict[str, Any]", answer).get("Error", {}).get("Code", "")))
            return CatalogRefused(f"{where} answered {code}.", remedy=_IDENTITY)
    if ours or _first(causes, ServiceUnavailableError):
        reason = type(ours[0]).__name__ if ours else "no answer"
        return CatalogUnreachable(f"{where} does not answer: {reason}.", remedy=_IDENTITY)
    return None


def _of_request(causes: Sequence[BaseException], settings: CatalogSettings) -> LakehouseError | None:
    """Whether the server was never asked: the request itself could not be made."""
    if settings.type != "rest":
        return None
    where = f"The catalog at {address_of(settings)}"
    if header := _first(causes, InvalidHeader):
        return CatalogRefused(f"{where} cannot be asked: {header}.", remedy=_CREDENTIALS)
    if any("get_frozen_credentials" in str(cause) for cause in causes):
        return CatalogRefused(
            f"{where} wants signed requests, and there is no identity to sign them.", remedy=_IDENTITY
        )
    return None


def _of_server(causes: Sequence[BaseException], settings: CatalogSettings) -> LakehouseError | None:
    where, answer = f"The catalog at {address_of(settings)}", _first(causes, HTTPError)
    status = answer.response.status_code if answer is not None and answer.response is not None else None
    server_error = _first(causes, RESTError)
    reason = str(status) if status else type(server_error).__name__
    if any(isinstance(cause, _NOT_LET_IN) for cause in causes):
        return CatalogRefused(f"{where} refuses our credentials ({reason}).", remedy=_CREDENTIALS)
    if any(isinstance(cause, ValidationError) and cause.title.endswith("Response") for cause in causes):
        return CatalogRefused(f"What answers at {address_of(settings)} is no Iceberg REST catalog.", remedy=_ELSEWHERE)
    silent = _first(causes, RequestException)
    if silent is not None and answer is None:
        return CatalogUnreachable(f"{where} does not answer: {silence_of(silent)}.", remedy=_START)
    if answer is not None or server_error is not None:
        remedy = _ELSEWHERE if status == HTTPStatus.NOT_FOUND else _LATER
        return CatalogRefused(f"{where} answered {reason}.", remedy=remedy)
    return None


def _first(causes: Sequence[BaseException], kind: type[_Kind]) -> _Kind | None:
    return next((cause for cause in causes if isinstance(cause, kind)), None)


def _short(text: str) -> str:
    """The first line of what a driver says, without its end mark."""
    return text.strip().partition("\n")[0].strip().rstrip(".")[:_LONGEST]
