"""Credentials go to one file that a person names, which nobody else may read; never to a screen or a log.

It is a file of variables, as a shell or a service reads them: `LAKE_INGEST_CREDENTIAL='id:secret'`.
"""

import fcntl
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from lakehouse.errors import LakehouseError

_PRIVATE = 0o600
_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)


class CredentialsNotKept(LakehouseError):
    """The file that credentials are to go to cannot be used."""


def variable_of(principal: str) -> str:
    """The variable of a principal's credential: `lake-ingest` → `LAKE_INGEST_CREDENTIAL`."""
    name = re.sub(r"[^A-Z0-9]+", "_", principal.upper()).strip("_")
    return f"{name if name[:1].isalpha() else f'P_{name}'}_CREDENTIAL"


class CredentialsFile:
    """The file, looked at before anything is asked of a server: what Polaris tells once must not be lost.

    Args:
        path: where it is, or will be.
        principals: whose credentials may be written.

    Raises:
        CredentialsNotKept: it cannot be written, others may read it, or two principals would share a variable.
    """

    def __init__(self, path: Path, principals: Iterable[str] = ()) -> None:
        self.path = path
        self._refuse_shared(principals)
        self._values: dict[str, str] = {}
        with self._locked():
            self._write()  # that it can be written is seen before a secret depends on it

    def __contains__(self, principal: str) -> bool:
        return bool(self._values.get(variable_of(principal)))

    def expects(self, principal: str) -> bool:
        """Whether a credential was asked for, and never came."""
        return self._values.get(variable_of(principal)) == ""

    def require_room(self, principals: Iterable[str]) -> None:
        """Refuse to write over a credential of somebody else.

        Args:
            principals: new ones.

        Raises:
            CredentialsNotKept: the file has a variable of theirs.
        """
        for principal in principals:
            if principal in self:
                raise CredentialsNotKept(
                    f"{self.path} has a {variable_of(principal)}, and the principal {principal} is new: it is of "
                    "another server, or of another principal.",
                    remedy="name another file, or take that variable out of this one if nobody needs it",
                )

    def credential(self, principal: str) -> str:
        """What the file has of a principal.

        Raises:
            CredentialsNotKept: nothing.
        """
        if principal not in self:
            raise CredentialsNotKept(
                f"{self.path} has no {variable_of(principal)}.",
                remedy=f"name the file in which the credential of {principal} is",
            )
        return self._values[variable_of(principal)]

    def keep(self, principal: str, credential: str) -> None:
        """Write a credential, whole and on the disk when this returns.

        Args:
            principal: whose it is.
            credential: `id:secret`.
        """
        with self._locked():
            self._values[variable_of(principal)] = credential
            self._write()

    def expect(self, principal: str) -> None:
        """Note that a credential is asked for: an empty one tells a later run that the answer was lost.

        Raises:
            CredentialsNotKept: the file has one by now, of another process.
        """
        with self._locked():
            self.require_room([principal])
            self._values[variable_of(principal)] = ""
            self._write()

    def expect_no_more(self, principal: str) -> None:
        """Take that note back: the server has said that it made nothing."""
        with self._locked():
            if self.expects(principal):
                del self._values[variable_of(principal)]
                self._write()

    def _refuse_shared(self, principals: Iterable[str]) -> None:
        by_variable: dict[str, str] = {}
        for principal in principals:
            other = by_variable.setdefault(variable_of(principal), principal)
            if other != principal:
                raise CredentialsNotKept(
                    f"{other} and {principal} would share the variable {variable_of(principal)}.",
                    remedy="give one of them another name",
                )

    @contextmanager
    def _locked(self) -> Generator[None]:
        """What is there by now, and nobody else's to write meanwhile."""
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
                raise CredentialsNotKept(f"{self.path} is no file of its own.", remedy="name a new file")
            if self.path.exists():
                self._read()
            yield
        finally:
            os.close(folder)

    def _read(self) -> None:
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if mode & ~_PRIVATE:
            raise CredentialsNotKept(f"Others may read {self.path} (mode {mode:o}).", remedy=f"chmod 600 {self.path}")
        try:
            matches = [_VARIABLE.fullmatch(word) for word in shlex.split(self.path.read_text(encoding="utf-8"))]
        except OSError as error:
            raise self._unwritable(error) from None
        except ValueError:  # no text, or a quote that nothing closes
            matches = [None]
        values = {match[1]: match[2] for match in matches if match is not None}
        if None in matches:
            raise CredentialsNotKept(
                f"{self.path} holds something else than the credentials that we have written.",
                remedy="name a new file",
            )
        self._values = values

    def _write(self) -> None:
        """Beside it, then in its place: a crash leaves the old one or the new one."""
        temporary: Path | None = None
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")  # with mode 600
            temporary = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.writelines(f"{key}={shlex.quote(value)}\n" for key, value in sorted(self._values.items()))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> CredentialsNotKept:
        return CredentialsNotKept(
            f"{self.path} cannot be written ({error.strerror}).",
            remedy="name a file in a folder that you may write to; `lakehouse polaris rotate --reset` replaces "
            "a credential that was lost",
        )
