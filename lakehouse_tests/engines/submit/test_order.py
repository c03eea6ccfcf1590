"""A driver is told where its job is and which settings it reads, and no secret."""

import json
from pathlib import Path

from lakehouse.engines.submit.order import ENVIRON, FOLDER, driver_arguments
from lakehouse.settings import Platform
from lakehouse.settings.models import KubernetesSettings
from lakehouse_tests.fixtures.spark import settings_of


def test_the_arguments_name_folder_and_settings_alone(tmp_path: Path, jars: Path) -> None:
    section = KubernetesSettings(image="i", conf="/srv/conf", home="/scratch")
    platform = Platform(name="company", mode="submit", messages="s3://bucket/steps", kubernetes=section)
    arguments = driver_arguments(settings_of(tmp_path, jars, platform), section, "s3://bucket/steps/a/b/1")
    assert arguments.keys() == {FOLDER, ENVIRON}
    assert arguments[FOLDER] == "s3://bucket/steps/a/b/1"
    assert json.loads(arguments[ENVIRON]) == {
        "LAKEHOUSE_CONF": "/srv/conf",
        "LAKEHOUSE_HOME": "/scratch",
        "LAKEHOUSE_PLATFORM": "company",
        "LAKEHOUSE__PLATFORM__MODE": "driver",
    }
