"""The command on a played Polaris that the example is declared for."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli.main import app
from lakehouse.polaris import PolarisServer
from lakehouse_tests.polaris.conftest import declare, played
from lakehouse_tests.polaris.played_server import PlayedPolaris

__all__ = ["declare", "played"]
Polaris = Callable[..., Result]
SETTINGS = """home: ../.lakehouse
declarations: []
platform: local
catalog: aws
kafka: local
"""


@pytest.fixture
def polaris(tmp_path: Path, played: PlayedPolaris, declare: Callable[..., PolarisServer]) -> Polaris:
    """`lakehouse polaris …` with settings of its own."""
    declare()
    conf = tmp_path / "conf"
    for file, text in {
        "lakehouse.yaml": SETTINGS,
        "catalogs/aws.yaml": "type: rest\nuri: https://polaris.example/api/catalog\nwarehouse: lake_aws\nstorage: s3\n",
        "platforms/local.yaml": "mode: classic\nmaster: local[1]\n",
        "kafka/local.yaml": "bootstrap_servers: 127.0.0.1:1\n",
    }.items():
        (conf / file).parent.mkdir(exist_ok=True)
        (conf / file).write_text(text)

    def polaris(*words: str) -> Result:
        return CliRunner().invoke(app, ["--conf", str(conf), "polaris", *words])

    return polaris
