"""Whose a lent credential is: AWS and Google are asked, and a SAS of Azure says it in the clear."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from importlib.util import find_spec

import msgspec
import requests

from lakehouse.doctor.finding import Diagnosis, not_asked, well
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.lent import Vended, sas_facts

GOOGLE = "https://oauth2.googleapis.com/tokeninfo"
_SECONDS = 10
_CHECK = "identity"


class _TokenInfo(msgspec.Struct):
    email: str = ""
    scope: str = ""


def identity(lent: Vended, properties: Mapping[str, str], settings: CatalogSettings) -> Iterator[Diagnosis]:
    """Whose it is, and what it opens.

    Args:
        lent: the credential.
        properties: that hold it.
        settings: of the catalog.
    """
    match lent.storage:
        case "s3":
            yield of_aws(properties, settings)
        case "gcs":
            yield of_google(properties[lent.names[0]])
        case "adls":
            yield of_azure(properties[lent.names[0]])


def of_azure(token: str) -> Diagnosis:
    """By the SAS itself.

    Args:
        token: it is not repeated.
    """
    sas = sas_facts(token)
    owner = f"of the principal {sas.owner} in the tenant {sas.tenant}" if sas.owner else "of an account's own key"
    return well(_CHECK, f"the SAS is {owner}; it opens {sas.resource} with the permissions {sas.permissions}")


def of_google(token: str, address: str = GOOGLE) -> Diagnosis:
    """By Google's `tokeninfo`; of a token that was narrowed to a bucket it may say nothing.

    Args:
        token: it is not repeated.
        address: of `tokeninfo`.
    """
    try:
        answer = requests.post(address, data={"access_token": token}, timeout=_SECONDS)
    except requests.RequestException as error:
        return not_asked(_CHECK, f"Google was not reached ({type(error).__name__})")
    if answer.status_code != HTTPStatus.OK:
        return not_asked(_CHECK, f"Google does not say whose the token is ({answer.status_code})")
    known = msgspec.json.decode(answer.content, type=_TokenInfo)
    return well(_CHECK, f"the token is of {known.email or 'a service account'}; scope {known.scope or 'unsaid'}")


def of_aws(properties: Mapping[str, str], settings: CatalogSettings) -> Diagnosis:
    """By `GetCallerIdentity`, which needs no permission. `AWS_ENDPOINT_URL_STS` names a store's own STS.

    Args:
        properties: with the three parts of the credential.
        settings: of the catalog.
    """
    import os

    if find_spec("botocore") is None:
        return not_asked(_CHECK, "whose it is: pip install 'sealed-lakehouse[aws]' lets AWS be asked")
    own_store = properties.get("s3.endpoint", settings.endpoint)
    if own_store and "amazonaws.com" not in own_store and "AWS_ENDPOINT_URL_STS" not in os.environ:
        return not_asked(_CHECK, "the store is not AWS' own; AWS_ENDPOINT_URL_STS would name its STS")
    return _caller(properties, settings.region or properties.get("client.region", "us-east-1"))


def _caller(properties: Mapping[str, str], region: str) -> Diagnosis:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import Session

    client = Session().create_client(
        "sts",
        region_name=region,
        aws_access_key_id=properties.get("s3.access-key-id"),
        aws_secret_access_key=properties.get("s3.secret-access-key"),
        aws_session_token=properties.get("s3.session-token"),
        config=Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"max_attempts": 1}),
    )
    try:
        known = client.get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        return not_asked(_CHECK, f"AWS does not say whose it is ({type(error).__name__})")
    return well(_CHECK, f"the credential is of {known['Arn']}, in the account {known['Account']}")
