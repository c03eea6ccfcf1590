"""A table of our own in the catalog: may we make it, what is lent for it, and does the catalog keep the protocol?"""

import os
import secrets
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
from requests import RequestException

from lakehouse.doctor.catalog.credential import credential
from lakehouse.doctor.catalog.error_meanings import meaning, meaning_of
from lakehouse.doctor.catalog.probe_object import probe_object
from lakehouse.doctor.catalog.rest_answers import LoadedTable, RestAnswer, RestAnswers
from lakehouse.doctor.finding import Diagnosis, examined, not_asked, refused, well, wrong
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.durable_files import local_path
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.probe import probe
from lakehouse.protocol.catalog.refusal import catalog_refusal
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.properties import python_properties

PREFIX = "lakehouse_doctor_"
_MAY = {
    "make a namespace": "grant NAMESPACE_CREATE, or CATALOG_MANAGE_CONTENT",
    "make a table": "grant TABLE_CREATE and TABLE_WRITE_DATA, or CATALOG_MANAGE_CONTENT",
    "drop a table": "grant TABLE_DROP, or CATALOG_MANAGE_CONTENT; drop the table that is left by hand",
    "drop a namespace": "grant NAMESPACE_DROP, or CATALOG_MANAGE_CONTENT; drop the namespace that is left by hand",
}


def scratch_of_rest(answers: RestAnswers, settings: CatalogSettings) -> Iterator[Diagnosis]:
    """Namespace and table are made and dropped; between, the credential and the storage are looked at."""
    namespace, table = f"{PREFIX}{secrets.token_hex(4)}", "probe"
    if answers.has_other_login:
        yield from capability(settings, namespace)
        return
    try:
        dropped: list[RestAnswer] = []
        make, drop = partial(answers.make_namespace, namespace), partial(answers.drop_namespace, namespace)
        with _made(make, drop, dropped) as made:
            if not made.ok:
                yield _denied("make a namespace", made)
                return
            yield from _with_table(answers, settings, namespace, table)
            yield from capability(settings, namespace)
        yield from (_denied("drop a namespace", answer) for answer in dropped if not answer.ok)
    except RequestException as error:
        yield wrong("reach", f"The catalog stopped answering ({type(error).__name__}).", "see its own log")


def _with_table(answers: RestAnswers, settings: CatalogSettings, namespace: str, table: str) -> Iterator[Diagnosis]:
    dropped: list[RestAnswer] = []
    make, drop = partial(answers.make_table, namespace, table), partial(answers.drop_table, namespace, table)
    with _made(make, drop, dropped) as made:
        if not made.ok:
            yield _denied("make a table", made)
            return
        yield well("roles", "the principal may make namespaces and tables")
        yield from _of_loaded(answers, settings, made)
    yield from (_denied("drop a table", answer) for answer in dropped if not answer.ok)


@contextmanager
def _made(
    make: Callable[[], RestAnswer], drop: Callable[[], RestAnswer], dropped: list[RestAnswer]
) -> Generator[RestAnswer]:
    """What is made is dropped at the end, also where a signal comes before the answer; what is said to that is kept."""
    answer: RestAnswer | None = None
    try:
        answer = make()
        yield answer
    finally:
        if answer is None or answer.ok:
            dropped.append(drop())


def _of_loaded(answers: RestAnswers, settings: CatalogSettings, made: RestAnswer) -> Iterator[Diagnosis]:
    try:
        loaded = msgspec.json.decode(made.body, type=LoadedTable)
    except msgspec.MsgspecError:
        yield wrong("reach", "The catalog's answer about a table is none of Iceberg's.", "upgrade the catalog")
        return
    location = loaded.metadata.location
    yield from examined("credential", credential(loaded.properties, settings, location))
    yield from examined("probe object", probe_object(location, answers.storage(loaded)))


def scratch_of_sql(settings: CatalogSettings, *, reached: bool = True) -> Iterator[Diagnosis]:
    """The warehouse itself, and the protocol.

    Args:
        settings: of the catalog, which lends no credentials.
        reached: whether it answers; its storage is asked all the same.
    """
    yield from examined("probe object", probe_object(settings.warehouse, python_properties(settings)))
    if reached:
        yield from capability(settings, f"{PREFIX}{secrets.token_hex(4)}")
    else:
        yield not_let_in()


def capability(settings: CatalogSettings, namespace: str) -> Iterator[Diagnosis]:
    """Branches and requirements, tried on a table in a namespace that is there or is made.

    Args:
        settings: of the catalog.
        namespace: of our own.
    """
    check = "capability"
    try:
        catalog = open_catalog(settings)
        present = catalog.namespace_exists(namespace)
        if not present:
            catalog.create_namespace(namespace)
        try:
            probe(catalog, namespace)
        finally:
            if not present:
                catalog.drop_namespace(namespace)
                drop_folder(settings.warehouse, namespace)
    except LakehouseError as error:
        yield refused(check, error)
    except Exception as error:  # noqa: BLE001 - a store, a server and a driver refuse in errors of their own
        known, ours = meaning_of(error), catalog_refusal(error, settings)
        if known is not None:
            yield wrong(check, known[0], known[1])
        elif ours is not None:
            yield refused(check, ours)
        else:
            yield wrong(
                check, f"A commit failed ({type(error).__name__}).", "run `lakehouse verify --yes`, see its log"
            )
    else:
        yield well(check, "the catalog keeps branches apart and checks requirements")


def drop_folder(warehouse: str, namespace: str) -> None:
    """Remove the empty folders that dropped tables of a namespace have left on a disk of this machine."""
    top = local_path(warehouse)
    if top is not None and top.is_absolute():
        for folder, _, _ in os.walk(top / namespace, topdown=False):
            with suppress(OSError):  # a server keeps files in it
                Path(folder).rmdir()


def _denied(doing: str, answer: RestAnswer) -> Diagnosis:
    known = meaning(answer.words)
    check = "credential" if known and doing == "make a table" and "may not do" not in known[0] else "roles"
    if known is not None:
        return wrong(check, f"To {doing} failed ({answer.status}). {known[0]}", known[1])
    return wrong(
        check, f"To {doing} failed ({answer.status}{f', {answer.kind}' if answer.kind.isalpha() else ''}).", _MAY[doing]
    )


def left_out() -> Iterator[Diagnosis]:
    """What is said where nothing may be written."""
    yield not_asked("probe object", "nothing may be written (--read-only)")
    yield not_asked("capability", "nothing may be written (--read-only)")


def not_let_in() -> Diagnosis:
    """What is said where the catalog does not answer, or refuses us."""
    return not_asked("capability", "the catalog has to let us in first")
