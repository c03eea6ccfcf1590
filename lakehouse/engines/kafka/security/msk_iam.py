"""Login to Amazon MSK by IAM: tokens that AWS' own signer makes for librdkafka, and AWS' login module for Java.

Java needs the JAR `software.amazon.msk:aws-msk-iam-auth` (classifier `all`) on Spark's class path; it is not among the
locked ones. Protocol: https://github.com/aws/aws-msk-iam-auth, sections "Details" and "Signature".
"""

import os
import re
import time
from collections.abc import Callable

import structlog

from lakehouse.engines.kafka.security.java_properties import jaas
from lakehouse.errors import LakehouseError
from lakehouse.settings.installed_package import require_extra
from lakehouse.settings.models import MskIamSettings

# What librdkafka calls when it needs a token: the property sasl.oauthbearer.config → token, its end in seconds.
TokenCallback = Callable[[str], tuple[str, float]]
_MODULE = "software.amazon.msk.auth.iam.IAMLoginModule"
_HANDLER = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?::\d+)?(?:,|$)")
_REMEDY = (
    "check the environment, profile or role that AWS' credentials come from, and msk_iam in the file of conf/kafka."
)

log = structlog.get_logger("lakehouse.kafka")


class MskLoginFailed(LakehouseError):
    """No token for MSK could be made: the region or AWS' credentials are missing."""


def region_of(settings: MskIamSettings, servers: str) -> str:
    """The region of a cluster.

    Args:
        settings: which may name it.
        servers: the brokers, `host:port`, comma-separated, whose names tell it as MSK gives them.

    Raises:
        MskLoginFailed: nothing names it.
    """
    match = _HOST.search(servers)
    region = settings.region or (match[1] if match else None) or os.environ.get("AWS_REGION")
    if not region:
        raise MskLoginFailed(
            f"Nothing says in which region of AWS the brokers {servers} are.",
            remedy="set msk_iam.region in the file of conf/kafka, or AWS_REGION.",
        )
    return region


def make_token(settings: MskIamSettings, region: str) -> tuple[str, float]:
    """A token, and when it ends, in seconds since the epoch.

    Raises:
        MskLoginFailed: AWS' credentials are not to be had.
        ExtraMissing: AWS' signer is not installed.
    """
    require_extra("aws", "aws_msk_iam_sasl_signer", "Login to Amazon MSK by IAM")
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as Signer
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        if settings.role_arn:
            token, ends_ms = Signer.generate_auth_token_from_role_arn(region, settings.role_arn)
        elif settings.profile:
            token, ends_ms = Signer.generate_auth_token_from_profile(region, settings.profile)
        else:
            token, ends_ms = Signer.generate_auth_token(region)
    except (BotoCoreError, ClientError, ValueError, AttributeError) as error:
        # An error of the service's may repeat what was sent: its kind alone is told. The signer raises an
        # AttributeError where AWS' chain ends without any credentials.
        reason = "there are none" if isinstance(error, AttributeError | ValueError) else type(error).__name__
    else:
        return token, ends_ms / 1000
    raise MskLoginFailed(f"AWS' credentials for Kafka are not to be had: {reason}.", remedy=_REMEDY)


def token_callback(settings: MskIamSettings, servers: str) -> TokenCallback:
    """What librdkafka asks for tokens. The first is made at once, so that what is wrong is said where it can be told.

    Raises:
        MskLoginFailed: there is none.
        ExtraMissing: AWS' signer is not installed.
    """
    region = region_of(settings, servers)
    ready = [make_token(settings, region)]

    def give(_config: str) -> tuple[str, float]:
        if ready and ready[0][1] > time.time() + 60:
            return ready.pop()
        try:
            return make_token(settings, region)
        except MskLoginFailed as error:
            log.warning("kafka.no_token", detail=error.message)
            raise

    return give


def java_login(settings: MskIamSettings) -> dict[str, str]:
    """The same login in Java's properties; its module finds the region and AWS' chain of credentials by itself."""
    options: dict[str, str] = {}
    if settings.profile:
        options["awsProfileName"] = settings.profile
    if settings.role_arn:
        options["awsRoleArn"] = settings.role_arn
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": jaas(_MODULE, options),
        "sasl.client.callback.handler.class": _HANDLER,
    }
