"""The object that is made is one that the operator's published schema takes, and another is not."""

import jsonschema
import pytest

from lakehouse.engines.submit.kubernetes.spark_application import label_of, name_of, spark_application
from lakehouse.engines.submit.remote_jobs import LaunchToken
from lakehouse.settings.models import KubernetesSettings
from lakehouse_tests.fixtures.kubernetes_api import validate_application

TOKEN = LaunchToken("ingest_birds", "00000000-0000-4000-8000-000000000001", 2)


def test_the_operators_schema_takes_it() -> None:
    section = KubernetesSettings(image="registry.example.com/lakehouse:1", secrets=["storage"])
    conf = {"spark.executor.memory": "4g", "spark.kubernetes.container.image": "another"}
    application = spark_application(section, TOKEN, {"--folder": "s3://b/f"}, conf, "4.1.3")
    validate_application(application)
    spec = application["spec"]
    assert spec["driverArgs"] == ["--folder", "s3://b/f"]
    assert spec["sparkConf"]["spark.kubernetes.container.image"] == "registry.example.com/lakehouse:1"
    assert spec["sparkConf"]["spark.executor.memory"] == "4g"
    assert spec["applicationTolerations"]["restartConfig"] == {"restartPolicy": "Never"}, "Dagster tries again"
    (container,) = spec["driverSpec"]["podTemplateSpec"]["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "storage"}}]
    application["spec"]["restartPolicy"] = "Never"
    with pytest.raises(jsonschema.ValidationError, match="restartPolicy"):
        validate_application(application)


def test_a_token_has_a_name_of_its_own_and_labels_that_can_be_chosen_by() -> None:
    names = {name_of(LaunchToken("ingest_birds", "a", number)) for number in (1, 2)}
    assert len(names) == 2
    assert all(len(name) <= 40 and name == name.lower() for name in names), "the operator adds `-0-driver` and more"
    labels = spark_application(KubernetesSettings(image="i"), TOKEN, {}, {}, "4.1.3")["metadata"]["labels"]
    assert labels["lakehouse/step"] == "ingest_birds"
    assert labels["lakehouse/try"] == "2"
    assert label_of("a b/" + "x" * 80) == "a-b-" + "x" * 59
