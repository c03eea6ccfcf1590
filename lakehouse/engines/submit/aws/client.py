"""A client of botocore, and what its refusals mean."""

from collections.abc import Callable
from typing import Any

from lakehouse.errors import LakehouseError
from lakehouse.settings.installed_package import DISTRIBUTION, ExtraMissing


class AwsRefused(LakehouseError):
    """A service of AWS refuses a request, or cannot be reached."""


def aws_client(service: str, region: str | None) -> Any:
    """A client with the environment's own identity.

    Raises:
        ExtraMissing: botocore is not installed.
        AwsRefused: no region is named.
    """
    try:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
        from botocore.session import get_session
    except ImportError:
        raise ExtraMissing(
            f"The client of {service} is not installed.", remedy=f"pip install '{DISTRIBUTION}[aws]'"
        ) from None
    retries: Any = {"max_attempts": 8, "mode": "standard"}
    try:
        return get_session().create_client(service, region_name=region, config=Config(retries=retries))
    except BotoCoreError as error:
        raise AwsRefused(
            f"There is no client of {service}: {error}", remedy="set `region` in the platform's file, or AWS_REGION."
        ) from error


def asked(call: Callable[..., Any], **arguments: Any) -> Any:
    """The answer of a request.

    Raises:
        AwsRefused: names the request, the reason, and what to look at.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return call(**arguments)
    except ClientError as error:
        raise AwsRefused(
            f"{error.operation_name} is refused: {error.response['Error'].get('Message') or error}",
            remedy="docs/how-to/spark-on-aws.md has what Dagster's and the job's principal may do.",
        ) from error
    except BotoCoreError as error:
        raise AwsRefused(f"AWS cannot be asked: {error}", remedy="see credentials, region and network.") from error
