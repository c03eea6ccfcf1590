"""What a registry says of a schema, and that it says nothing."""

from dataclasses import dataclass

from lakehouse.errors import LakehouseError


class RegistryUnavailable(LakehouseError):
    """The registry gives no answer, or not to us; nothing was published."""


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry has it.

    Attributes:
        kind: `AVRO`, `PROTOBUF` or `JSON`.
        text: of the schema.
        references: name and text of the schemas that it refers to, each after those that it needs itself.
    """

    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()


def no_answer(registry: str, what: str, why: str) -> RegistryUnavailable:
    """That a registry does not say something.

    Args:
        registry: its address, without a password.
        what: it was asked for.
        why: it does not say it, without what an error's text may hold.
    """
    return RegistryUnavailable(
        f"The schema registry {registry} does not say what {what} is ({why}).",
        remedy="see whether it runs and lets you in, then run again: nothing was published, and nothing is lost.",
    )
