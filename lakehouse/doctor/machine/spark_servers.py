"""Does the Spark answer that others run: a Connect server, a standalone master, or a service that starts drivers?"""

from collections.abc import Iterator

from lakehouse.doctor.finding import Diagnosis, refused, well, wrong
from lakehouse.doctor.machine.listening import silence
from lakehouse.engines.spark.connect.client import Remote
from lakehouse.engines.spark.connect.given_server import is_given
from lakehouse.engines.spark.registration import is_standalone, masters_of
from lakehouse.engines.submit.remote_jobs import LaunchToken
from lakehouse.engines.submit.services import remote_jobs
from lakehouse.errors import LakehouseError
from lakehouse.settings import Platform, Settings

_CHECK = "spark"
_NOBODYS = LaunchToken("doctor", "none", 0)


def spark_servers(settings: Settings) -> Iterator[Diagnosis]:
    """What of the platform is not ours to start. Nothing is started there."""
    platform = settings.platform
    try:
        if is_given(platform):
            Remote.of(settings).require()
            yield well(_CHECK, "the Spark Connect server answers")
        elif is_standalone(platform):
            yield _master(platform)
        elif platform.mode == "submit" and platform.master is None:
            remote_jobs(settings).find(_NOBODYS)  # it needs the client, an identity, and an answer
            yield well(_CHECK, f"the service of the platform {platform.name} answers, and shows its jobs")
    except LakehouseError as error:
        yield refused(_CHECK, error)


def _master(platform: Platform) -> Diagnosis:
    """Of several masters all but the leader wait for its end, so one of them is enough."""
    silent: list[str] = []
    for host, port in masters_of(platform):
        if (reason := silence(host, port)) is None:
            return well(_CHECK, f"a Spark master listens at {host}:{port}")
        silent.append(f"{host}:{port} ({reason})")
    return wrong(
        _CHECK,
        f"No Spark master listens at {', '.join(silent)}.",
        "start it, or correct `master` in the platform's file of conf/platforms",
    )
