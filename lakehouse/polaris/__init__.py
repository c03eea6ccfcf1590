"""Apache Polaris as code: what a server should have, how it differs, the requests that end that, and its policies."""

from lakehouse.polaris.applying import PolarisNotApplied, apply_polaris
from lakehouse.polaris.credentials_file import CredentialsFile, CredentialsNotKept
from lakehouse.polaris.declared import PolarisServer, load_polaris, polaris_names
from lakehouse.polaris.management import PolarisApi, PolarisRefused
from lakehouse.polaris.plan import PolarisPlan, plan_polaris
from lakehouse.polaris.survey import survey
from lakehouse.polaris.wanted import wanted

__all__ = [
    "CredentialsFile",
    "CredentialsNotKept",
    "PolarisApi",
    "PolarisNotApplied",
    "PolarisPlan",
    "PolarisRefused",
    "PolarisServer",
    "apply_polaris",
    "load_polaris",
    "plan_polaris",
    "polaris_names",
    "survey",
    "wanted",
]
