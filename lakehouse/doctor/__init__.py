"""What is wrong with this environment, before Spark starts: each wrong or missing key, with its remedy."""

from lakehouse.doctor.examination import examine
from lakehouse.doctor.finding import Finding, State
from lakehouse.doctor.manifests import manifest_versions

__all__ = ["Finding", "State", "examine", "manifest_versions"]
