"""New secrets for principals. Rotated, the secret before goes on for one more rotation; reset, it ends at once."""

from pathlib import Path

from lakehouse.polaris.applying import LoginAnswer, PolarisNotApplied
from lakehouse.polaris.credentials_file import CredentialsFile, CredentialsNotKept
from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.polaris.management import PolarisApi, management


def rotate_credentials(server: PolarisServer, principal: str, secrets: CredentialsFile) -> None:
    """Have a principal rotate its own credential, which Polaris lets nobody else do, and keep the new one.

    Runs that hold the secret before go on. It ends with the next rotation, so rotate twice where it was seen by
    somebody.

    Args:
        server: where it is declared.
        principal: its name.
        secrets: the file that has the credential now, and has the new one afterwards.

    Raises:
        PolarisNotApplied: it is not declared.
        CredentialsNotKept: the file has no credential of it.
        PolarisRefused: Polaris does not take the credential.
    """
    require_declared(server, principal)
    api = PolarisApi(server, secrets.credential(principal))
    answer = api.ask(management("POST", "principals", principal, "rotate", confidential=True), LoginAnswer)
    secrets.keep(principal, answer.credential)


def reset_credentials(api: PolarisApi, server: PolarisServer, principal: str, secrets: CredentialsFile) -> None:
    """Give a principal a new credential where the old one is lost; whoever holds that one is out at once.

    Args:
        api: the server, as its root principal: Polaris lets nobody else do it.
        server: where the principal is declared.
        principal: its name.
        secrets: the file that has the new one afterwards.

    Raises:
        PolarisNotApplied: it is not declared.
        PolarisRefused: Polaris refuses it.
    """
    require_declared(server, principal)
    answer = api.ask(management("POST", "principals", principal, "reset", body={}, confidential=True), LoginAnswer)
    secrets.keep(principal, answer.credential)


def require_declared(server: PolarisServer, principal: str) -> None:
    """Refuse a principal that no file names.

    Raises:
        PolarisNotApplied: there is none.
    """
    if principal not in server.principals:
        raise PolarisNotApplied(
            f"There is no principal {principal} in the file.",
            remedy=f"name one of {', '.join(sorted(server.principals)) or '(none yet)'}",
        )


def require_there(secrets: Path) -> None:
    """Refuse to rotate without the file that has the credentials: a principal logs in to rotate its own.

    Raises:
        CredentialsNotKept: there is none.
    """
    if not secrets.exists():
        raise CredentialsNotKept(
            f"There is no file {secrets}.",
            remedy="name the one that has the credentials; --reset makes new ones where they are lost",
        )
