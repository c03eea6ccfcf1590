"""What is wrong with this environment, before Spark starts: each wrong or missing key, with its remedy."""

from lakehouse.doctor.examination import examine
from lakehouse.doctor.finding import Diagnosis, State, examined
from lakehouse.doctor.machine.manifests import manifest_versions

__all__ = ["Diagnosis", "State", "examine", "examined", "manifest_versions"]
