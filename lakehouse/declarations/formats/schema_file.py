"""The file of a schema that lies beside a declaration."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from lakehouse.declarations.columns.error import DeclarationError


@contextmanager
def schema_file(form: str, file: Path) -> Generator[Path]:
    """The file, to be read inside.

    Args:
        form: what a declaration calls the format: Avro.
        file: as it was declared.

    Raises:
        DeclarationError: it cannot be read.
    """
    try:
        yield Path(file)
    except OSError as error:
        raise DeclarationError(
            f"{form}: {file} cannot be read ({error.strerror}).",
            remedy="put the schema beside the declaration, and name it by Path(__file__).with_name(…).",
        ) from None
