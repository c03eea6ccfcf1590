"""The catalog `lake` as Spark wants it told, derived from the same settings that PyIceberg reads."""

from pydantic import SecretStr
from sqlalchemy import URL, make_url

from lakehouse.settings import CatalogSettings, SettingsError
from lakehouse.settings.catalogs.properties import Reveal, in_the_clear, java_properties

LAKE = "spark.sql.catalog.lake"


def catalog_conf(catalog: CatalogSettings, *, reveal: Reveal = in_the_clear) -> dict[str, str]:
    """Spark's configuration of the catalog; secrets are looked up here, so keep the answer off command lines.

    Args:
        catalog: where tables live.
        reveal: what stands for a secret, by its key in Spark; its value, unless a person is to read the answer.

    Raises:
        SettingsError: Spark cannot reach this kind of catalog.
    """

    def by_full_key(key: str, secret: SecretStr) -> str:
        return reveal(f"{LAKE}.{key}", secret)

    address = by_full_key("uri", catalog.uri) if isinstance(catalog.uri, SecretStr) else catalog.uri
    conf = {
        LAKE: "org.apache.iceberg.spark.SparkCatalog",
        # A cached table would show an hour-old main, and a cached catalog another step's branch.
        f"{LAKE}.cache-enabled": "false",
        f"{LAKE}.warehouse": catalog.warehouse,
    }
    if catalog.type == "rest":
        conf |= {f"{LAKE}.type": "rest", f"{LAKE}.uri": address}
    else:
        conf |= {f"{LAKE}.{key}": value for key, value in _jdbc(catalog, address).items()}
    conf |= {f"{LAKE}.{key}": value for key, value in java_properties(catalog, by_full_key).items()}
    return conf


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
            # row must not be on the disk before that: our next commit syncs both
            # (`protocol/catalog/sql_catalog/sql_database.py`).
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
