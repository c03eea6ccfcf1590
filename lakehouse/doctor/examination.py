"""All checks in order: from what is written, over this machine, to the catalog and its storage."""

from collections.abc import Iterator

from lakehouse.doctor.catalog.login import login
from lakehouse.doctor.catalog.other_catalogs import other_catalogs
from lakehouse.doctor.catalog.reach import reach
from lakehouse.doctor.catalog.rest_answers import RestAnswers
from lakehouse.doctor.catalog.scratch_table import left_out, not_let_in, scratch_of_rest, scratch_of_sql
from lakehouse.doctor.catalog.written_keys import identity_file, storage_extra, written_keys
from lakehouse.doctor.finding import Check, Diagnosis, examined, not_asked
from lakehouse.doctor.machine.addresses import cluster_addresses
from lakehouse.doctor.machine.brokers import brokers
from lakehouse.doctor.machine.capacity import disk, java, ports
from lakehouse.doctor.machine.jar_files import jar_files
from lakehouse.doctor.machine.only_here import only_here
from lakehouse.doctor.machine.python_of_workers import python_of_workers
from lakehouse.doctor.machine.spark_servers import spark_servers
from lakehouse.settings import Settings

_HERE: tuple[tuple[str, Check], ...] = (
    ("identity", identity_file),
    ("storage client", storage_extra),
    ("addresses", cluster_addresses),
    ("this machine", only_here),
    ("java", java),
    ("jars", jar_files),
    ("python on workers", python_of_workers),
    ("disk", disk),
    ("ports", ports),
    ("spark", spark_servers),
    ("kafka", brokers),
)


def examine(settings: Settings, *, read_only: bool = False) -> Iterator[Diagnosis]:
    """Every finding, as it is made.

    Args:
        settings: what is examined.
        read_only: make no namespace, table or object, which otherwise are removed again.
    """
    secrets = list(examined("secrets", written_keys(settings.catalog)))
    yield from secrets
    for name, check in _HERE:
        yield from examined(name, check(settings))
    if any(finding.state == "wrong" for finding in secrets):
        yield not_asked("reach", "the catalog is not asked with a credential that is wrong already")
    else:
        yield from examined("catalog", _of_catalog(settings, read_only=read_only))
    yield from other_catalogs(settings)


def _of_catalog(settings: Settings, *, read_only: bool) -> Iterator[Diagnosis]:
    catalog = settings.catalog
    answers = RestAnswers(catalog) if catalog.type == "rest" else None
    findings = list(examined("login", login(answers, catalog))) if answers is not None else []
    if answers is None or answers.has_other_login:
        findings += examined("reach", reach(catalog))
    yield from findings
    reached = all(finding.state != "wrong" or finding.check == "clock" for finding in findings)
    if read_only:
        yield from left_out()
    elif answers is None:
        settings.state.make()
        yield from scratch_of_sql(catalog, reached=reached)
    elif reached:
        yield from scratch_of_rest(answers, catalog)
    else:
        yield not_let_in()
