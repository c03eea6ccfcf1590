"""Does a REST catalog answer, at our time, in our realm, to our login, and does it know the warehouse?"""

from collections.abc import Iterator
from http import HTTPStatus

from requests import RequestException

from lakehouse.doctor.catalog.rest_answers import RestAnswer, RestAnswers
from lakehouse.doctor.finding import Diagnosis, not_asked, refused, well, wrong
from lakehouse.protocol.catalog.refusal import CatalogUnreachable, address_of, catalog_refusal
from lakehouse.settings import CatalogSettings

MOST_AHEAD = 60
"""Seconds: a publish refuses a table that is more ahead of our clock, and AWS a request that is 15 minutes off."""
_NOT_LET_IN = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def login(answers: RestAnswers, settings: CatalogSettings) -> Iterator[Diagnosis]:
    """Ask one thing after the other, up to the first that is wrong."""
    if answers.has_other_login:
        yield not_asked("login", "requests are signed, or a class of your own logs in; what follows does so by it")
        return
    try:
        answer = answers.log_in()
        if answer is not None:
            yield from _of_token(answer, settings)
            if not answer.ok:
                return
        yield from _of_config(answers.configure(), settings, clock=answer is None)
    except RequestException as error:
        yield _silent(error, settings)


def _of_token(answer: RestAnswer, settings: CatalogSettings) -> Iterator[Diagnosis]:
    yield well("reach", f"the catalog at {address_of(settings)} answers")
    yield from _clock(answer)
    if answer.ok:
        yield well("login", "the catalog gave a token for the credential")
        return
    if (realm := _realm(answer, settings)) is not None:
        yield realm
    elif answer.kind == "no token":
        yield wrong(
            "login",
            "What answers where tokens are had gives none: it is no token endpoint.",
            "correct `uri` (Polaris: it ends with /api/catalog) or oauth2_server_uri; see what a browser gets there",
        )
    elif answer.status == HTTPStatus.NOT_FOUND:
        yield wrong(
            "login",
            "There is no token endpoint at the catalog's address.",
            "correct `uri` (Polaris: it ends with /api/catalog), or write oauth2_server_uri",
        )
    elif answer.kind == "invalid_scope":
        yield wrong(
            "login",
            f"The catalog refuses the scope {settings.scope or 'catalog'} (invalid_scope).",
            "write scope: PRINCIPAL_ROLE:ALL for Polaris, or a role that this principal has",
        )
    elif answer.status in _NOT_LET_IN:
        yield wrong(
            "login",
            f"The catalog refuses the credential ({answer.status}).",
            "look whether the secret was rotated, and whether the principal is of this realm"
            f"{f' ({settings.realm})' if settings.realm else ''}",
        )
    else:
        yield wrong("login", f"The token endpoint answered {answer.status}.", "see the catalog's own log")


def _of_config(answer: RestAnswer, settings: CatalogSettings, *, clock: bool) -> Iterator[Diagnosis]:
    if clock:
        yield well("reach", f"the catalog at {address_of(settings)} answers")
        yield from _clock(answer)
    if answer.ok:
        yield well("warehouse", f"the catalog knows the warehouse {settings.warehouse}")
    elif (realm := _realm(answer, settings)) is not None:
        yield realm
    elif answer.kind == "no catalog":
        yield wrong("reach", "What answers is no Iceberg REST catalog.", "correct `uri` in its file of conf/catalogs")
    elif answer.status == HTTPStatus.UNAUTHORIZED:
        yield wrong(
            "login",
            "The catalog wants a login, or refuses the token (401).",
            "write credential: ${env:NAME} under properties, or renew the token",
        )
    elif answer.status == HTTPStatus.FORBIDDEN:
        yield wrong(
            "roles",
            f"The principal may not see the catalog {settings.warehouse}.",
            "give one of its principal roles a catalog role of this catalog, and look at scope",
        )
    elif answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST):
        yield wrong(
            "warehouse",
            f"The catalog does not know the warehouse {settings.warehouse} ({answer.status}).",
            "write the name of a catalog that Polaris lists, in the case that it has there",
        )
    else:
        yield wrong("reach", f"The catalog answered {answer.status}.", "see its own log")


def _realm(answer: RestAnswer, settings: CatalogSettings) -> Diagnosis | None:
    """Polaris, `RealmContextFilter`: 404 with this type, whatever is asked."""
    if answer.kind != "MissingOrInvalidRealm":
        return None
    named = f"the realm {settings.realm}" if settings.realm else "its default realm, and the file names none"
    return wrong(
        "realm",
        f"The catalog does not know {named}.",
        "write a realm of polaris.realm-context.realms into `realm`; case counts",
    )


def _clock(answer: RestAnswer) -> Iterator[Diagnosis]:
    if answer.seconds_ahead is not None:
        yield clock(answer.seconds_ahead)


def clock(seconds_ahead: float) -> Diagnosis:
    """How our clock is against the catalog's.

    Args:
        seconds_ahead: of ours; negative where it is behind.
    """
    off = f"{abs(seconds_ahead):.0f} s {'ahead of' if seconds_ahead > 0 else 'behind'} the catalog's"
    if abs(seconds_ahead) <= MOST_AHEAD:
        return well("clock", f"this machine's clock is {off}")
    return wrong(
        "clock", f"This machine's clock is {off}.", "set both by NTP: tokens, signatures and publishes need it"
    )


def _silent(error: RequestException, settings: CatalogSettings) -> Diagnosis:
    known = catalog_refusal(error, settings)
    if known is None:
        known = CatalogUnreachable(
            f"The catalog at {address_of(settings)} does not answer ({type(error).__name__}).", remedy="correct `uri`"
        )
    return refused("reach", known)
