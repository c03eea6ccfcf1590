"""What other engines have to be told to read the lake, in the words of each. Secrets are named, and never shown.

A reference (`${env:NAME}`) becomes what the engine itself resolves. Where it resolves none, or a secret is no
reference, the text has a gap and a comment that says what belongs there.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping

from pydantic import SecretStr
from sqlalchemy import make_url

from lakehouse.engines.spark import catalog_conf
from lakehouse.engines.spark.connect.client import Remote, token_file
from lakehouse.settings import CatalogSettings, Settings
from lakehouse.settings.catalogs.properties import typed_properties
from lakehouse.settings.plain_secret import names_a_secret
from lakehouse.settings.secret import LateSecret, revealed

GAP = "<secret>"
_PASSWORD = re.compile(r"(://[^/@\s:]*:)[^/@\s]+@")
_PYICEBERG = "PYICEBERG_CATALOG__LAKE__"
_DUCKDB_SECRETS = {"token": "TOKEN", "oauth2-server-uri": "OAUTH2_SERVER_URI", "scope": "OAUTH2_SCOPE"}
_TRINO = {
    "token": "iceberg.rest-catalog.oauth2.token",
    "credential": "iceberg.rest-catalog.oauth2.credential",
    "scope": "iceberg.rest-catalog.oauth2.scope",
    "oauth2-server-uri": "iceberg.rest-catalog.oauth2.server-uri",
    "s3.endpoint": "s3.endpoint",
    "s3.region": "s3.region",
    "client.region": "s3.region",
    "s3.path-style-access": "s3.path-style-access",
    "s3.access-key-id": "s3.aws-access-key",
    "s3.secret-access-key": "s3.aws-secret-key",
}


def pyiceberg(settings: Settings) -> Iterator[str]:
    """Environment variables of PyIceberg's, for a shell; `load_catalog("lake")` reads them."""
    catalog = settings.catalog
    yield f"export {_PYICEBERG}TYPE={catalog.type}"
    if catalog.type != "glue":
        yield f"export {_PYICEBERG}URI={_address_in_shell(catalog)}"
    elif catalog.uri:
        yield f"export {_PYICEBERG}GLUE__ENDPOINT={_address_in_shell(catalog)}"
    if catalog.type == "glue" and catalog.region:
        yield f"export {_PYICEBERG}GLUE__REGION={shlex.quote(catalog.region)}"
    yield f"export {_PYICEBERG}WAREHOUSE={shlex.quote(catalog.warehouse)}"
    for key, value in _properties(catalog).items():
        if "_" in key:  # PyIceberg reads one as a dash
            yield f"# {key}: no variable can name it; write it into .pyiceberg.yaml, under catalog: lake:"
            continue
        name = _PYICEBERG + key.replace(".", "__").replace("-", "_").upper()
        shown = _in_shell(value) if isinstance(value, LateSecret) else shlex.quote(_shown(key, value))
        yield f"export {name}={shown}"


def duckdb(settings: Settings) -> Iterator[str]:
    """SQL for DuckDB."""
    catalog = settings.catalog
    yield from ("INSTALL iceberg;", "LOAD iceberg;")
    if catalog.type == "sql":
        yield "-- DuckDB knows no SQL catalog of Iceberg's: give iceberg_scan the metadata_location that PyIceberg has."
        return
    if catalog.type == "glue":
        yield "-- DuckDB asks Glue by the number of the account, and nobody has tried that here: see its own manual."
        return
    secrets = list(_duckdb_secrets(catalog))
    if secrets:
        yield f"CREATE SECRET lake (TYPE iceberg, {', '.join(secrets)});"
    login = "SECRET lake" if secrets else "AUTHORIZATION_TYPE 'none'"
    yield f"ATTACH {_sql(catalog.warehouse)} AS lake (TYPE iceberg, ENDPOINT {_sql(_shown_address(catalog))}, {login});"


def spark(settings: Settings) -> Iterator[str]:
    """Lines of `spark-defaults.conf`."""
    yield f"# On the class path: the JARs in {settings.state.jars / 'spark'}, as `lakehouse jars` brings them."
    yield "spark.sql.extensions org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    rest = settings.catalog.type == "rest"

    def reveal(key: str, secret: SecretStr) -> str:
        if key.endswith(".uri"):
            return _shown_address(settings.catalog)
        # Iceberg's REST client resolves `env:NAME` by itself; its JDBC catalog does not.
        parts = list(secret.parts()) if isinstance(secret, LateSecret) else []
        return f"env:{parts[0][1]}" if rest and [kind for kind, _ in parts] == ["env"] else GAP

    for key, value in catalog_conf(settings.catalog, reveal=reveal).items():
        shown = value if value.startswith("env:") else _shown(key, value)
        if shown == GAP:
            yield f"# a secret belongs here, in a file that only its owner can read: {_origin(settings.catalog, key)}"
        yield f"{key} {shown}"


def notebook(settings: Settings) -> Iterator[str]:
    """Where a Spark Connect server listens, for a shell."""
    remote, key = settings.platform.remote, token_file(settings.state)
    remote = "" if remote is None else _template(remote)
    if settings.platform.mode != "connect" or not remote:
        yield (
            f"# The platform {settings.platform.name} has no Spark Connect server. For one of this machine's own: "
            "LAKEHOUSE_PLATFORM=connect lakehouse up --connect"
        )
        return
    server = Remote.of(settings)
    if server.here and key.is_file():  # PySpark sends a key without TLS only to this very name
        yield f'export SPARK_REMOTE="sc://localhost:{server.port}/;token=$(cat {shlex.quote(str(key))})"'
        return
    if server.here:
        yield "# Nobody has started it: lakehouse up --connect; then ask again, for where its key is."
    address, *options = remote.split(";")
    shown = [option if "token" not in option else f"token={GAP}" for option in options]
    yield f"export SPARK_REMOTE={shlex.quote(';'.join([address, *shown]))}"


def trino(settings: Settings) -> Iterator[str]:
    """`etc/catalog/lake.properties` of Trino."""
    catalog = settings.catalog
    yield "connector.name=iceberg"
    if catalog.type == "rest":
        yield from ("iceberg.catalog.type=rest", f"iceberg.rest-catalog.uri={_shown_address(catalog)}")
        yield f"iceberg.rest-catalog.warehouse={catalog.warehouse}"
        if {"token", "credential"} & _properties(catalog).keys():
            yield "iceberg.rest-catalog.security=OAUTH2"
    elif catalog.type == "glue":
        yield from ("iceberg.catalog.type=glue", f"hive.metastore.glue.default-warehouse-dir={catalog.warehouse}")
        if catalog.region:
            yield f"hive.metastore.glue.region={catalog.region}"
    elif (url := make_url(_shown_address(catalog))).get_backend_name() == "postgresql":
        yield from ("iceberg.catalog.type=jdbc", "iceberg.jdbc-catalog.driver-class=org.postgresql.Driver")
        port = f":{url.port}" if url.port else ""
        yield f"iceberg.jdbc-catalog.connection-url=jdbc:postgresql://{url.host or 'localhost'}{port}/{url.database}"
        yield from ("iceberg.jdbc-catalog.catalog-name=lake", "iceberg.jdbc-catalog.schema-version=V1")
        yield f"iceberg.jdbc-catalog.default-warehouse-dir={catalog.warehouse}"
        user = catalog.properties.get("user", url.username or "")
        yield f"iceberg.jdbc-catalog.connection-user={_in_trino('user', user)}"
        password = _in_trino("password", catalog.properties.get("password", GAP))
        yield f"iceberg.jdbc-catalog.connection-password={password}"
    else:
        yield "# Trino has no driver for SQLite: have a REST catalog, or PostgreSQL, for what Trino shall read."
    if any(key.startswith("s3.") for key in _properties(catalog)):
        yield "fs.native-s3.enabled=true"
    for key, value in _properties(catalog).items():
        if key in _TRINO:
            yield f"{_TRINO[key]}={_in_trino(key, value)}"
        elif catalog.type == "rest":
            yield f"# {key}: Trino may want it by a name of its own"


READERS: Mapping[str, Callable[[Settings], Iterator[str]]] = {
    "pyiceberg": pyiceberg,
    "polars": pyiceberg,
    "duckdb": duckdb,
    "spark": spark,
    "notebook": notebook,
    "trino": trino,
}


def _properties(catalog: CatalogSettings) -> dict[str, str | SecretStr]:
    """PyIceberg's properties; secrets stay hidden."""
    return {**typed_properties(catalog, "python"), **catalog.properties}


def _shown_address(catalog: CatalogSettings) -> str:
    """The address with gaps for secrets."""
    return _PASSWORD.sub(rf"\1{GAP}@", _template(catalog.uri))


def _address_in_shell(catalog: CatalogSettings) -> str:
    if isinstance(catalog.uri, LateSecret):
        return _in_shell(catalog.uri)
    return shlex.quote(_shown_address(catalog))


def _template(value: str | SecretStr) -> str:
    """A text with a gap for each reference; of an address from the environment, what hides its password."""
    if isinstance(value, LateSecret):
        return "".join(text if kind == "text" else GAP for kind, text in value.parts())
    return revealed(value)


def _shown(key: str, value: str | SecretStr) -> str:
    """A value; what might be a secret and is no reference is left out."""
    return GAP if isinstance(value, SecretStr) or names_a_secret(key) else value


def _in_shell(secret: LateSecret) -> str:
    forms = {
        "text": shlex.quote,
        "env": lambda name: f'"${{{name}}}"',
        "file": lambda path: f'"$(cat {shlex.quote(path)})"',
    }
    return "".join(forms[kind](text) for kind, text in secret.parts())


def _in_trino(key: str, value: str | SecretStr) -> str:
    """Trino resolves variables of the environment, and no files."""
    if not isinstance(value, LateSecret):
        return _shown(key, value)
    forms = {"text": str, "env": lambda name: f"${{ENV:{name}}}", "file": lambda _: GAP}
    return "".join(forms[kind](text) for kind, text in value.parts())


def _duckdb_secrets(catalog: CatalogSettings) -> Iterator[str]:
    for key, value in _properties(catalog).items():
        if key == "credential":
            text = _in_duckdb(key, value)
            yield from (f"CLIENT_ID split_part({text}, ':', 1)", f"CLIENT_SECRET split_part({text}, ':', 2)")
        elif key in _DUCKDB_SECRETS:
            yield f"{_DUCKDB_SECRETS[key]} {_in_duckdb(key, value)}"


def _in_duckdb(key: str, value: str | SecretStr) -> str:
    """The command line of DuckDB has `getenv`; elsewhere whoever connects puts the value there."""
    if not isinstance(value, LateSecret):
        return _sql(_shown(key, value))
    forms = {"text": _sql, "env": lambda name: f"getenv({_sql(name)})", "file": lambda _: _sql(GAP)}
    return " || ".join(forms[kind](text) for kind, text in value.parts())


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _origin(catalog: CatalogSettings, key: str) -> str:
    """What the settings say of a secret: the names of variables and files."""
    wanted = key.rpartition(".")[2]
    for name, value in catalog.properties.items():
        if isinstance(value, LateSecret) and name.rpartition(".")[2] == wanted:
            return " and ".join(f"{kind} {text}" for kind, text in value.parts() if kind != "text")
    return "that of the catalog's settings"
