"""The SparkApplication of a job, from settings: `spark.apache.org/v1` of apache/spark-kubernetes-operator."""

import re
from collections.abc import Mapping
from typing import Any

from lakehouse.engines.submit.remote_jobs import LaunchToken
from lakehouse.settings.models import KubernetesSettings

API, KIND = "apis/spark.apache.org/v1/sparkapplications", "SparkApplication"
TOKEN, STEP, EXECUTION, TRY = (f"lakehouse/{name}" for name in ("token", "step", "execution", "try"))
_KEPT_MS = 3_600_000  # of what has ended: long enough for a retry, and to be looked at
_LONGEST_LABEL = 63
_DRIVER = "spark-kubernetes-driver"  # Spark's own name of the container


def name_of(token: LaunchToken) -> str:
    """The object's name: so two starts with one token meet each other."""
    return f"lakehouse-{token.digest}"


def label_of(text: str) -> str:
    """A text as the value of a label: what a label cannot hold is a dash."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:_LONGEST_LABEL].strip("-._")


def spark_application(
    settings: KubernetesSettings, token: LaunchToken, arguments: Mapping[str, str], conf: Mapping[str, str], spark: str
) -> dict[str, Any]:
    """The object.

    Args:
        settings: the section of the platform's file.
        token: of the job.
        arguments: of the program, name → value.
        conf: Spark's properties of the platform; they lie over ours, but for names and labels.
        spark: version of Spark, which the image has.
    """
    labels = {
        TOKEN: token.digest,
        STEP: label_of(token.step),
        EXECUTION: label_of(token.execution),
        TRY: str(token.number),
    }
    spec: dict[str, Any] = {
        "pyFiles": settings.program,
        "driverArgs": [word for pair in arguments.items() for word in pair],
        "sparkConf": {
            # Executors that have ended are kept, since their times say what they have cost.
            "spark.kubernetes.executor.deleteOnTermination": "false",
            **conf,
            "spark.kubernetes.container.image": settings.image,
            "spark.kubernetes.authenticate.driver.serviceAccountName": settings.service_account,
            **{f"spark.kubernetes.driver.label.{name}": value for name, value in labels.items()},
            **{f"spark.kubernetes.executor.label.{name}": value for name, value in labels.items()},
        },
        "runtimeVersions": {"sparkVersion": spark},
        # Dagster tries again, by the rules of its run. Pods stay until they were looked at, and go by themselves.
        "applicationTolerations": {
            "restartConfig": {"restartPolicy": "Never"},
            "resourceRetainPolicy": "Always",
            "resourceRetainDurationMillis": _KEPT_MS,
            "ttlAfterStopMillis": _KEPT_MS,
        },
    }
    if settings.secrets:
        variables = [{"secretRef": {"name": name}} for name in settings.secrets]
        spec["driverSpec"] = {
            "podTemplateSpec": {"spec": {"containers": [{"name": _DRIVER, "envFrom": variables}]}},
        }
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": KIND,
        "metadata": {"name": name_of(token), "namespace": settings.namespace, "labels": labels},
        "spec": spec,
    }
