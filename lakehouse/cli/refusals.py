"""What catalog, disk or system refuse, whatever error that has become, as the one line that a verb ends with."""

from pathlib import Path

from lakehouse.cli.context import Context
from lakehouse.errors import LakehouseError, with_causes
from lakehouse.settings import Settings
from lakehouse.settings.storage_refusal import StorageRefused, storage_refusal


class SystemRefused(LakehouseError):
    """The operating system refuses something: a file is not there, or a connection not to be had."""


def refusal_of(error: Exception, context: Context | None) -> LakehouseError | None:
    """What is the matter outside of this program; None where the program itself is at fault.

    Args:
        error: that no verb has handled.
        context: of the command; None if it was not made yet.
    """
    settings = _settings_of(context)
    if context is None or settings is None:
        return None
    root = settings.state.root
    if not _is_elsewhere(error, root) and (refusal := storage_refusal(error, root)) is not None:
        return StorageRefused.of_state(root, refusal)
    # It imports PyIceberg, which a verb that has met its errors has imported before.
    from lakehouse.protocol.catalog import catalog_refusal

    if (refusal := catalog_refusal(error, settings.catalog)) is not None:
        return refusal
    if isinstance(error, OSError) and not context.verbose:
        where = f"{error.filename}: " if error.filename else ""
        return SystemRefused(
            f"{where}{error.strerror or error or type(error).__name__}.",
            remedy="`lakehouse --verbose …` shows what was tried",
        )
    return None


def _is_elsewhere(error: Exception, root: Path) -> bool:
    """Whether a file is named that is not below the state folder, as of a backup."""
    names = [cause.filename for cause in with_causes(error) if isinstance(cause, OSError)]
    return any(isinstance(name, str) and not Path(name).is_relative_to(root) for name in names)


def _settings_of(context: Context | None) -> Settings | None:
    """The settings; None where they cannot be read, of which the error in hand is not to be hidden."""
    try:
        return None if context is None else context.settings
    except LakehouseError:
        return None
