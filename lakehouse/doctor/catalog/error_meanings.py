"""What catalogs and stores mean by their words. Nothing of them is repeated but names: of roles, permissions, regions.

Messages are those of AWS STS and S3, of Google's IAM, of Azure Storage, and of Polaris 1.x.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from lakehouse.errors import with_causes

Match = re.Match[str]


class _Meaning(NamedTuple):
    pattern: re.Pattern[str]
    message: Callable[[Match], str]
    remedy: Callable[[Match], str]


def _fixed(text: str) -> Callable[[Match], str]:
    return lambda _: text


NO_IDENTITY = (
    "There is no identity for the cloud here: no keys, no profile and no role that give one.",
    "log in here (AWS: AWS_PROFILE, keys in the environment, or a role of the machine; Google: "
    "GOOGLE_APPLICATION_CREDENTIALS; Azure: `az login`), or write keys into the catalog's file",
)
_LACKS_IDENTITY = {  # by name: the clients are of extras
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "DefaultCredentialsError",
    "CredentialUnavailableError",
}
_ARN = r"arn:aws[a-z-]*:[a-z]+::\d{12}:[\w+=,.@/-]+"
_MEANINGS = (
    _Meaning(
        re.compile(rf"User: (?P<who>{_ARN}) is not authorized to perform: sts:\w+ on resource: (?P<role>{_ARN})"),
        lambda match: f"AWS does not let {match['who']} assume {match['role']}: trust goes only one way.",
        lambda match: (
            f"both are needed: the trust policy of {match['role']} has to name {match['who']} (and the "
            "external id of the catalog), and that identity has to be allowed sts:AssumeRole on the role"
        ),
    ),
    _Meaning(
        re.compile(r"sts:AssumeRole"),
        _fixed("AWS does not let the catalog assume the role of its storage."),
        _fixed("let the role's trust policy name the catalog's identity, and allow that sts:AssumeRole on the role"),
    ),
    _Meaning(
        re.compile(r"(?P<permission>iam\.serviceAccounts\.\w+)"),
        lambda match: f"Google does not let the catalog act as its service account: it lacks {match['permission']}.",
        _fixed(
            "give the identity that the catalog runs as roles/iam.serviceAccountTokenCreator on the service account of "
            "its storage; and see whose key its GOOGLE_APPLICATION_CREDENTIALS is"
        ),
    ),
    _Meaning(
        re.compile(r"(?P<permission>storage\.(?:objects|buckets|folders|managedFolders)\.\w+)"),
        lambda match: f"The service account may not do what is needed on the bucket: it lacks {match['permission']}.",
        _fixed(
            "give the service account roles/storage.objectAdmin on the bucket, and with folders storage.folderAdmin"
        ),
    ),
    _Meaning(
        re.compile(r"AuthorizationPermissionMismatch|AuthorizationFailure|generateUserDelegationKey"),
        _fixed("Azure lets the catalog's application have no right on the storage account."),
        _fixed(
            "assign it Storage Blob Data Contributor on the container and Storage Blob Delegator on the account; it "
            "takes up to ten minutes until that counts"
        ),
    ),
    _Meaning(
        re.compile(r"no credentials are available|stsUnavailable|Service: Sts, Status Code: 501"),
        _fixed("The catalog can lend no credentials: its store has no STS."),
        _fixed("write access: static and the store's keys under properties, or give the storage an stsEndpoint"),
    ),
    _Meaning(
        re.compile(r"RequestTimeTooSkewed|RequestExpired|SignatureDoesNotMatch.*time|Signature not yet current"),
        _fixed("The store refuses a request by its time: a clock is wrong."),
        _fixed("set the clocks of this machine and of the catalog's by NTP"),
    ),
    _Meaning(
        re.compile(
            r"(?:AuthorizationHeaderMalformed|PermanentRedirect)(?:.*expecting '(?P<region>[a-z0-9-]+)')?", re.S
        ),
        lambda match: f"The bucket is in {match['region'] or 'another region'}, and another region was asked.",
        lambda match: f"write region: {match['region'] or 'the bucket`s'}, in the catalog's storage too",
    ),
    _Meaning(
        re.compile(r"NoSuchBucket|FilesystemNotFound|ContainerNotFound|The specified bucket does not exist"),
        _fixed("There is no such bucket or container."),
        _fixed("correct the warehouse, or the base location of the catalog, or make the bucket"),
    ),
    _Meaning(
        re.compile(r"not authorized for op (?P<operation>[A-Z_]+)"),
        lambda match: f"The principal may not do {match['operation']}.",
        _fixed(
            "grant a catalog role CATALOG_MANAGE_CONTENT, give it to a principal role of this principal, and let scope "
            "be PRINCIPAL_ROLE:ALL or that role"
        ),
    ),
    _Meaning(
        re.compile(r"AccessDenied|Access Denied|ACCESS_DENIED|InvalidAccessKeyId|does not have permission"),
        _fixed("The store lets us not do this."),
        _fixed("allow reading, writing, listing and deleting below the warehouse, as docs/how-to/catalogs.md has it"),
    ),
    _Meaning(
        re.compile(r"AWS Error NETWORK_CONNECTION|EndpointConnectionError"),
        _fixed("The store does not answer."),
        _fixed(
            "correct `endpoint` or `region` in the catalog's file, or see whether the network lets this machine out"
        ),
    ),
)


def meaning(words: str) -> tuple[str, str] | None:
    """What went wrong, and the remedy; None of words that mean nothing to us.

    Args:
        words: as a server says them; they may hold a secret.
    """
    for known in _MEANINGS:
        if match := known.pattern.search(words):
            return known.message(match), known.remedy(match)
    return None


def meaning_of(error: BaseException) -> tuple[str, str] | None:
    """The same of an error of a client here: what it came from may say more than it does.

    Args:
        error: with its causes.
    """
    if lacks_identity(error):
        return NO_IDENTITY
    return meaning("\n".join(f"{type(cause).__name__} {cause}" for cause in with_causes(error)))


def lacks_identity(error: BaseException) -> bool:
    """Whether a client here had nobody to ask as, and so has not asked."""
    return any(type(cause).__name__ in _LACKS_IDENTITY for cause in with_causes(error))
