"""Under which name the package is installed, and who else writes into its folder.

An older library, of which nothing is used here, is named `lakehouse` in the public index and has an import package of
that name too. Where both are installed, whoever came last has overwritten files of the other.
"""

from importlib import metadata
from importlib.util import find_spec

from lakehouse.errors import LakehouseError

DISTRIBUTION = "sealed-lakehouse"
NAMESAKE = "lakehouse"


class NamesakeInstalled(LakehouseError):
    """Another distribution has installed files into the import package `lakehouse`."""


class ExtraMissing(LakehouseError):
    """What is asked for needs an extra of the distribution that is not installed."""


def require_extra(extra: str, module: str, purpose: str) -> None:
    """Refuse what cannot work without an extra.

    Args:
        extra: its name.
        module: that it brings.
        purpose: what it is for; the message begins with it.

    Raises:
        ExtraMissing: the module cannot be imported.
    """
    if find_spec(module) is None:
        raise ExtraMissing(
            f"{purpose} needs {module}, which is not installed.", remedy=f"pip install '{DISTRIBUTION}[{extra}]'"
        )


def version() -> str:
    """The version of the distribution that is installed."""
    return metadata.version(DISTRIBUTION)


def refuse_namesake() -> None:
    """Refuse an environment that is shared with the older library.

    Raises:
        NamesakeInstalled: it is installed; the remedy removes both, since either removes files of the other.
    """
    try:
        namesake = metadata.version(NAMESAKE)
    except metadata.PackageNotFoundError:
        return
    raise NamesakeInstalled(
        f"The distribution {NAMESAKE} {namesake} is installed too, and writes into the same import package "
        f"`lakehouse` as {DISTRIBUTION}.",
        remedy=f"pip uninstall --yes {NAMESAKE} {DISTRIBUTION} && pip install {DISTRIBUTION}",
    )
