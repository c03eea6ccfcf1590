"""Who this machine is to AWS, where the catalog's file gives no keys."""

from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

_GIVEN = (
    "s3.access-key-id",
    "client.access-key-id",
    "s3.profile-name",
    "client.profile-name",
    "s3.signer",
    "s3.anonymous",
)


def is_nobody(location: str, properties: Mapping[str, str]) -> bool:
    """Whether nobody has an identity for a location in S3: Arrow's client asks as nobody, and says it may not.

    Args:
        location: of a table.
        properties: of its storage, in PyIceberg's names.
    """
    if urlsplit(location).scheme not in ("s3", "s3a", "s3n") or any(key in properties for key in _GIVEN):
        return False
    if find_spec("botocore") is None:
        return False
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        return Session().get_credentials() is None
    except BotoCoreError:  # there is a profile, or a token, and it gives none
        return True
