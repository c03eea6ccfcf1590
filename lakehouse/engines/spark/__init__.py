"""Spark sessions with the catalog `lake`: classic or Connect, one for each step, ended within seconds by a signal."""

from lakehouse.engines.spark.catalog import catalog_conf
from lakehouse.engines.spark.conf import process_conf, session_conf, spark_conf
from lakehouse.engines.spark.connect.client import Remote, SparkUnreachable
from lakehouse.engines.spark.connect.given_server import ServerUnfit
from lakehouse.engines.spark.connect.server import ConnectServer, ConnectServerFailed
from lakehouse.engines.spark.driver import SparkDidNotStart
from lakehouse.engines.spark.registration import MasterUnreachable, NoFreeWorker
from lakehouse.engines.spark.session import DriverMismatch, spark_session
from lakehouse.engines.spark.session_settings import interpreted, set_for, single_job
from lakehouse.engines.spark.worker_environment import WorkersDiffer

__all__ = [
    "ConnectServer",
    "ConnectServerFailed",
    "DriverMismatch",
    "MasterUnreachable",
    "NoFreeWorker",
    "Remote",
    "ServerUnfit",
    "SparkDidNotStart",
    "SparkUnreachable",
    "WorkersDiffer",
    "catalog_conf",
    "interpreted",
    "process_conf",
    "session_conf",
    "set_for",
    "single_job",
    "spark_conf",
    "spark_session",
]
