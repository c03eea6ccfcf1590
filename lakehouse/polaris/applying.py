"""Makes a server as it is declared: each change in its order, each secret kept before the next request is sent."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from lakehouse.errors import LakehouseError
from lakehouse.polaris.credentials_file import CredentialsFile
from lakehouse.polaris.management import PolarisApi, PolarisRefused, PolarisUnclear
from lakehouse.polaris.plan import PolarisChange, PolarisPlan


class PolarisNotApplied(LakehouseError):
    """Nothing, or not all, was done."""


class _Login(msgspec.Struct, rename="camel"):
    client_id: str
    client_secret: str


class LoginAnswer(msgspec.Struct):
    """What Polaris answers to whoever makes a principal, or rotates its credentials: the only time it tells them."""

    credentials: _Login

    @property
    def credential(self) -> str:
        """As a catalog's file wants it."""
        return f"{self.credentials.client_id}:{self.credentials.client_secret}"


def file_for(plan: PolarisPlan, secrets: Path | None, principals: Iterable[str] = ()) -> CredentialsFile | None:
    """The file that the credentials of new principals go to; None if there are none.

    Args:
        plan: with or without new principals.
        secrets: the file that is named.
        principals: all that are declared.

    Raises:
        PolarisNotApplied: there are new ones, and no file is named; or one of a run before has no credential.
        CredentialsNotKept: it cannot be used, or has a credential of that name.
    """
    new = [change.principal for change in plan.changes if change.principal]
    if new and secrets is None:
        raise PolarisNotApplied(
            f"{', '.join(new)}: Polaris tells the credentials of a new principal once, and no file is named.",
            remedy="name one with --secrets FILE: it is made with mode 600",
        )
    if secrets is None or not (new or secrets.exists()):
        return None
    file = CredentialsFile(secrets, new)
    file.require_room(new)
    if lost := [principal for principal in principals if principal not in new and file.expects(principal)]:
        raise PolarisNotApplied(
            f"{', '.join(lost)}: made by a run whose answer was lost, so nobody has its credential.",
            remedy=f"lakehouse polaris rotate {' '.join(lost)} --reset --secrets {secrets} --yes",
        )
    return file if new else None


def apply_polaris(
    api: PolarisApi,
    plan: PolarisPlan,
    secrets: CredentialsFile | None,
    done: Callable[[PolarisChange], None] = lambda _: None,
) -> None:
    """Make all changes of a plan.

    Args:
        api: the server, as a principal that may manage.
        plan: made of what is there now.
        secrets: where credentials of new principals go.
        done: told of each change that was made.

    Raises:
        PolarisNotApplied: the plan has what Polaris lets nobody change, and nothing was done; or the answer to a new
            principal was lost.
        PolarisRefused: a change was refused; those before it are made, and a new plan has the rest.
    """
    if plan.refused:
        raise PolarisNotApplied(f"{plan.refused[0].problem}; nothing was changed.", remedy=plan.refused[0].remedy)
    for change in plan.changes:
        if change.principal:
            assert secrets is not None
            secrets.keep(change.principal, _created(api, change, secrets))
        else:
            api.tell(change.request)
        done(change)


def _created(api: PolarisApi, change: PolarisChange, secrets: CredentialsFile) -> str:
    secrets.expect(change.principal)
    try:
        return api.ask(change.request, LoginAnswer).credential
    except PolarisUnclear as unclear:
        raise PolarisNotApplied(
            f"principal {change.principal}: {unclear.message} If it was made, nobody has its credential.",
            remedy=f"apply again; if that finds it there: lakehouse polaris rotate {change.principal} --reset "
            f"--secrets {secrets.path} --yes",
        ) from None
    except PolarisRefused:
        secrets.expect_no_more(change.principal)
        raise
