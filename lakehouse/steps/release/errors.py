"""How a release, or reading one, can end other than well."""

from lakehouse.errors import LakehouseError


class NothingReleased(LakehouseError):
    """The group has no release yet."""


class PointerDamaged(LakehouseError):
    """The pointer's table does not say what is current."""


class ReleaseUnknown(LakehouseError):
    """The group never had a release of this id."""


class ReleaseGone(LakehouseError):
    """The release is older than those that are kept, or a member of it was dropped."""


class TagMoved(LakehouseError):
    """A tag does not name what was released: somebody moved it."""


class TagRefused(LakehouseError):
    """A member cannot be tagged: it was dropped meanwhile, or the tag names something else already."""
