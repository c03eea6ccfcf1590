"""Who runs the jobs of a platform: `spark-submit` here, Kubernetes, EMR Serverless or Glue."""

from lakehouse.engines.submit.remote_jobs import RemoteJobs
from lakehouse.engines.submit.spark_submit import SparkSubmitJobs
from lakehouse.settings import Settings


def remote_jobs(settings: Settings) -> RemoteJobs:
    """The service of a platform whose mode is `submit`.

    Raises:
        LakehouseError: it cannot be reached by these settings.
    """
    platform = settings.platform
    if platform.kubernetes is not None:
        from lakehouse.engines.submit.kubernetes.jobs import KubernetesJobs

        return KubernetesJobs(settings, platform.kubernetes)
    if platform.emr_serverless is not None:
        from lakehouse.engines.submit.aws.emr_serverless import EmrServerlessJobs

        return EmrServerlessJobs(settings, platform.emr_serverless)
    if platform.glue is not None:
        from lakehouse.engines.submit.aws.glue import GlueJobs

        return GlueJobs(settings, platform.glue)
    return SparkSubmitJobs(settings)
