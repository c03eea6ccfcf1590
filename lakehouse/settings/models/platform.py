"""Where Spark runs: a file of `conf/platforms/`."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.models.section import Property, Section
from lakehouse.settings.plain_secret import hidden
from lakehouse.settings.secret import revealed


class Platform(Section):
    """Where Spark runs: a file of `conf/platforms/`.

    Attributes:
        name: the file's name.
        mode: `classic` starts Spark in this process, `connect` talks to a Spark Connect server.
        master: for classic, and for a Connect server that we start ourselves.
        remote: the Connect server's address, `sc://host:port`; references to secrets are allowed in it.
        conf: Spark configuration, passed as it is.
        stop_timeout_seconds: how long a session may take to stop before it is abandoned.
    """

    name: str
    mode: Literal["classic", "connect"]
    master: str | None = None
    remote: Property | None = None
    conf: dict[str, str] = {}
    stop_timeout_seconds: float = Field(default=10, gt=0)

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        needed = "master" if self.mode == "classic" else "remote"
        if not getattr(self, needed):
            raise PydanticCustomError(
                "needs_key", "Mode {mode} needs the key {needed}", {"mode": self.mode, "needed": needed}
            )
        return self

    @field_validator("remote")
    @classmethod
    def _hides_its_token(cls, value: Property | None) -> Property | None:
        return None if value is None else hidden(value)

    @property
    def remote_address(self) -> str | None:
        """The Connect server's address in the clear; secrets are looked up here."""
        return None if self.remote is None else revealed(self.remote)
