"""The catalog `lake`, and others, as Spark wants them told, derived from the same settings that PyIceberg reads."""

from pydantic import SecretStr
from pyspark.sql import SparkSession
from sqlalchemy import URL, make_url

from lakehouse.engines.spark.naming import quoted_name, quoted_table, quoted_text
from lakehouse.iceberg.names import identifier_of, split_catalog
from lakehouse.settings import CatalogSettings, SettingsError
from lakehouse.settings.catalogs.properties import Reveal, glue_address, in_the_clear, java_properties

CATALOGS = "spark.sql.catalog"
LAKE = f"{CATALOGS}.lake"
_JDBC = {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "jdbc.schema-version": "V1"}
_GLUE = {"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}
# Of another SQL catalog Spark gets no login, but one in its session's memory, which is told of the tables to be read:
# JdbcCatalog looks for rows of the name that Spark calls it by, and every lakehouse has its own under `lake`.
_MEMORY = "jdbc:sqlite::memory:"  # of each connection its own, so there has to be one
_IN_MEMORY = {**_JDBC, "uri": _MEMORY, "clients": "1"}


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
        kind = _IN_MEMORY
        properties = {key: value for key, value in properties.items() if not key.startswith("jdbc.")}
    else:
        address = by_full_key("uri", catalog.uri) if isinstance(catalog.uri, SecretStr) else catalog.uri
        kind = _kind(catalog, address)
    # A cached table would show an hour-old main, and a cached catalog another step's branch.
    options = {"cache-enabled": "false", "warehouse": catalog.warehouse, **kind, **properties}
    return {place: "org.apache.iceberg.spark.SparkCatalog"} | {f"{place}.{key}": options[key] for key in options}


def show_table(spark: SparkSession, name: str, metadata_location: str) -> None:
    """Let a session find a table of another catalog, where it cannot ask that catalog itself.

    A table that it was shown before is shown anew: as `metadata_location` has it.

    Args:
        spark: a session of ours.
        name: `catalog:namespace.table`; one of the own catalog needs nothing.
        metadata_location: of the document that was read.
    """
    catalog, table = split_catalog(name)
    if not catalog or spark.conf.get(f"{CATALOGS}.{catalog}.uri", None) != _MEMORY:
        return
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted_name(catalog, *identifier_of(table)[:-1])}")
    spark.sql(f"DROP TABLE IF EXISTS {quoted_table(name)}")  # in this session's memory, and nowhere else
    arguments = f"table => {quoted_text(table)}, metadata_file => {quoted_text(metadata_location)}"
    spark.sql(f"CALL {quoted_name(catalog)}.system.register_table({arguments})").collect()


def _kind(catalog: CatalogSettings, address: str) -> dict[str, str]:
    match catalog.type:
        case "rest":
            return {"type": "rest", "uri": address}
        case "glue":
            return {**_GLUE, **glue_address(address)}
        case "sql":
            return _jdbc(catalog, address)


def _jdbc(catalog: CatalogSettings, address: str) -> dict[str, str]:
    if catalog.name != "lake":
        raise SettingsError(
            f"The SQL catalog is named {catalog.name!r}, but its rows carry the name that Spark uses, which is 'lake'.",
            remedy="remove the key `name` from the catalog's file.",
        )
    url = make_url(address)
    match url.get_backend_name():
        case "sqlite":
            # Without the time-out, a writer that finds the file locked fails at once. Spark syncs no document, so its
            # row must not be on the disk before that: our next commit syncs both
            # (`protocol/catalog/sql_catalog/sql_database.py`).
            return {**_JDBC, "uri": f"jdbc:sqlite:{url.database}?busy_timeout=30000&synchronous=NORMAL"}
        case "postgresql":
            return {**_JDBC, "uri": _postgres(url), **_login(url)}
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
