"""The catalog `lake`, and others, as Spark wants them told, derived from the same settings that PyIceberg reads."""

from pydantic import SecretStr
from pyspark.sql import SparkSession
from sqlalchemy import URL, make_url

from lakehouse.settings import CatalogSettings, SettingsError
from lakehouse.settings.catalogs.properties import Reveal, in_the_clear, java_properties

CATALOGS = "spark.sql.catalog"
LAKE = f"{CATALOGS}.lake"
# Of another SQL catalog Spark gets no login, but the documents of the tables that it reads: JdbcCatalog would look for
# rows of the name that Spark calls it by, and every lakehouse has its own under `lake`.
IN_MEMORY = "org.apache.iceberg.inmemory.InMemoryCatalog"
_HADOOP_IO = "org.apache.iceberg.hadoop.HadoopFileIO"


def catalog_conf(
    catalog: CatalogSettings, *, other: str | None = None, reveal: Reveal = in_the_clear
) -> dict[str, str]:
    """Spark's configuration of a catalog; secrets are looked up here, so keep the answer off command lines.

    Args:
        catalog: where tables live.
        other: the name of a catalog beside the own one, which is only read.
        reveal: what stands for a secret, by its key in Spark; its value, unless a person is to read the answer.

    Raises:
        SettingsError: Spark cannot reach this kind of catalog.
    """
    place = LAKE if other is None else f"{CATALOGS}.{other}"

    def by_full_key(key: str, secret: SecretStr) -> str:
        return reveal(f"{place}.{key}", secret)

    properties = java_properties(catalog, by_full_key)
    if catalog.type == "sql" and other is not None:
        kind = {"catalog-impl": IN_MEMORY, "io-impl": _HADOOP_IO}
        properties = {key: value for key, value in properties.items() if not key.startswith("jdbc.")}
    else:
        address = by_full_key("uri", catalog.uri) if isinstance(catalog.uri, SecretStr) else catalog.uri
        kind = {"type": "rest", "uri": address} if catalog.type == "rest" else _jdbc(catalog, address)
    # A cached table would show an hour-old main, and a cached catalog another step's branch.
    told = {"cache-enabled": "false", "warehouse": catalog.warehouse, **kind, **properties}
    return {place: "org.apache.iceberg.spark.SparkCatalog"} | {f"{place}.{key}": told[key] for key in told}


def is_in_memory(spark: SparkSession, other: str) -> bool:
    """Whether another catalog is one in Spark's memory, which knows the tables that it is told of."""
    return spark.conf.get(f"{CATALOGS}.{other}.catalog-impl", None) == IN_MEMORY


def _jdbc(catalog: CatalogSettings, address: str) -> dict[str, str]:
    if catalog.name != "lake":
        raise SettingsError(
            f"The SQL catalog is named {catalog.name!r}, but its rows carry the name that Spark uses, which is 'lake'.",
            remedy="remove the key `name` from the catalog's file.",
        )
    url = make_url(address)
    common = {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "jdbc.schema-version": "V1"}
    match url.get_backend_name():
        case "sqlite":
            # Without the time-out, a writer that finds the file locked fails at once. Spark syncs no document, so its
            # row must not be on the disk before that: our next commit syncs both (`protocol/catalog/sql_database.py`).
            return {**common, "uri": f"jdbc:sqlite:{url.database}?busy_timeout=30000&synchronous=NORMAL"}
        case "postgresql":
            return {**common, "uri": _postgres(url), **_login(url)}
        case other:
            raise SettingsError(
                f"Spark has no driver for the SQL catalog's database {other!r}.", remedy="use sqlite or postgresql."
            )


def _postgres(url: URL) -> str:
    port = f":{url.port}" if url.port else ""
    options = "&".join(f"{key}={value}" for key, value in url.normalized_query.items() for value in value)
    return f"jdbc:postgresql://{url.host or 'localhost'}{port}/{url.database}{f'?{options}' if options else ''}"


def _login(url: URL) -> dict[str, str]:
    login = {"jdbc.user": url.username, "jdbc.password": url.password}
    return {key: str(value) for key, value in login.items() if value is not None}
