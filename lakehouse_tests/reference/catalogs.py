"""`docs/reference/catalogs.md`: every key of a catalog, by cloud, and where it comes from."""

from collections.abc import Iterator

from lakehouse.settings.catalogs.keys import KEYS, RENAMED, CatalogKey, Side, Storage
from lakehouse.settings.catalogs.storage import JARS_OF
from lakehouse.settings.shipped import shipped
from lakehouse_tests.reference.lines import head

_CLOUDS: dict[Storage, str] = {"s3": "S3", "gcs": "GCS", "adls": "ADLS"}
_LOGINS = (
    ("`credential`", "`id:secret` of a principal of the catalog", "Polaris prints it when a principal is made"),
    ("`token`", "a token, in the place of `credential`", "the identity provider"),
    ("`s3.access-key-id`", "with `access: static` only", "the store, or IAM"),
    ("`s3.secret-access-key`", "with `access: static` only", "the store, or IAM"),
    ("`adls.account-key`", "with `access: static` only", "the storage account, under Access keys"),
    ("`gcs.oauth2.token`", "with `access: static` only", "`gcloud auth print-access-token`; it ends after an hour"),
)
_BEGIN = """
A file of `conf/catalogs/` says each thing once. Spark's configuration (below `spark.sql.catalog.lake.`) and PyIceberg's
properties both follow from it. How to set one up is in [catalogs on every cloud](../how-to/catalogs.md)."""


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from head("Catalogs", "Every key of a catalog by cloud, and where it comes from.")
    yield _BEGIN
    yield from ("", "## Where each key comes from", "", "| key | where | comes from |", "|---|---|---|")
    yield from (f"| `{key.setting}` | {_where(key)} | {key.origin} |" for key in KEYS)
    yield from ("", "## What each key becomes", "", "| key | PyIceberg | Spark |", "|---|---|---|")
    yield from (f"| `{key.setting}` | {_name(key, 'python')} | {_name(key, 'java')} |" for key in KEYS)
    yield from ("", "What is written under `properties` is handed to both, by PyIceberg's name. These have another one")
    yield from ("in Java:", "", "| PyIceberg | Spark |", "|---|---|")
    yield from (f"| `{python}` | `{java}` |" for python, java in RENAMED.items())
    yield from ("", "## Secrets", "", "They stand under `properties`, as `${env:NAME}` or `${file:/path}`.", "")
    yield from ("| property | what it is | comes from |", "|---|---|---|")
    yield from (f"| {name} | {what} | {origin} |" for name, what, origin in _LOGINS)
    yield from ("", "## JARs", "", "`lakehouse jars` brings a set where the chosen catalog asks for it.", "")
    yield from ("| asked for by | folder of the lock | JARs |", "|---|---|---|")
    for storage, name in JARS_OF.items():
        yield f"| files in {_CLOUDS[storage]} | `conf/jars/{name}` | {_jars(name)} |"
    yield f"| a SQL catalog in PostgreSQL | `conf/jars/postgresql` | {_jars('postgresql')} |"


def _where(key: CatalogKey) -> str:
    return ", ".join(_CLOUDS[storage] for storage in key.storages) or "everywhere"


def _name(key: CatalogKey, side: Side) -> str:
    name = key.name(side)
    return "–" if name is None else f"`{name}`"


def _jars(name: str) -> str:
    lines = shipped("conf", "jars", name, "jars.sha256").read_text(encoding="utf-8").splitlines()
    return ", ".join(f"`{line.split()[1]}`" for line in lines)
