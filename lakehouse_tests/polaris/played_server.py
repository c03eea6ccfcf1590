"""A small server that plays Polaris: its management API, and of its catalog API namespaces, policies and endpoints.

It answers as Polaris 1.7's sources do: what is there twice is a conflict, what names something that is not there is not
found, an update of an older version is refused, a secret is told once. Every request and answer is kept, for a test
that reads them with the classes of Polaris' own client.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit

ROOT, ROOT_SECRET = "root-id", "root-s3cret"
Body = dict[str, Any]


class Exchange(NamedTuple):
    """One request with its answer."""

    method: str
    path: str
    body: Body | None
    status: int
    answer: Body | None


class No(Exception):
    """An answer that refuses."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class PlayedPolaris:
    """Listens on loopback. Its state is open for a test to change as somebody else would."""

    def __init__(self, *, version: str = "1.7") -> None:
        self.exchanges: list[Exchange] = []
        self.catalogs: dict[str, Body] = {}
        self.namespaces: dict[str, set[tuple[str, ...]]] = {}
        self.catalog_roles: dict[str, dict[str, list[Body]]] = {}
        self.holders: dict[tuple[str, str], set[str]] = {}
        self.principals: dict[str, Body] = {"root": {"name": "root", "properties": {}, "entityVersion": 1}}
        self.roles_of: dict[str, set[str]] = {"root": {"service_admin"}}
        self.principal_roles: set[str] = {"service_admin"}
        self.secrets: dict[str, tuple[str, list[str]]] = {"root": (ROOT, [ROOT_SECRET])}
        self.tables: set[tuple[str, ...]] = set()
        self.policies: dict[tuple[str, ...], list[Body]] = {}
        self.health: Body = {"status": "UP", "checks": [{"name": "metastore", "status": "UP"}]}
        self.lost: set[str] = set()
        """Paths whose next request that changes something is done, and answered by an error that repeats the answer."""
        self.version, self.realm = version, "POLARIS"
        self._tokens: dict[str, str] = {}
        self._made = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def writes(self) -> list[Exchange]:
        """What was asked to be changed."""
        return [
            exchange
            for exchange in self.exchanges
            if exchange.method not in ("GET", "HEAD") and "oauth" not in exchange.path
        ]

    def answer(self, method: str, path: str, body: Body | None, form: Body, headers: Body) -> tuple[int, Body | None]:
        address = urlsplit(path)
        if address.path == "/q/health":
            return (200 if self.health["status"] == "UP" else 503), self.health
        if headers.get("polaris-realm", self.realm) != self.realm:
            raise No(404, "MissingOrInvalidRealm", "Unknown realm")
        parts = [unquote(part) for part in address.path.strip("/").split("/")]
        if parts == ["api", "catalog", "v1", "oauth", "tokens"]:
            return 200, self._token(form)
        who = self._tokens.get(headers.get("authorization", "").removeprefix("Bearer "))
        if who is None:
            raise No(401, "NotAuthorizedException", "Unauthenticated")
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        match parts:
            case ["api", "management", "v1", *rest]:
                if who != "root" and rest != ["principals", who, "rotate"]:
                    raise No(403, "ForbiddenException", f"Principal '{who}' is not authorized")
                if rest[-1:] == ["rotate"] and rest[1] != who:
                    raise No(
                        403, "ForbiddenException", f"Principal '{who}' is not authorized for op ROTATE_CREDENTIALS"
                    )
                return self._management(method, rest, body or {})
            case ["api", "catalog", "v1", "config"]:
                return 200, {
                    "defaults": {},
                    "overrides": {"prefix": query["warehouse"]},
                    "endpoints": self._endpoints(),
                }
            case ["api", "catalog", "v1", catalog, "namespaces", *rest]:
                return self._namespaces(method, self._catalog(catalog)["name"], rest, body or query)
            case ["api", "catalog", "polaris", "v1", catalog, "namespaces", _, "policies"]:
                return 200, {"identifiers": []}
            case ["api", "catalog", "polaris", "v1", catalog, "applicable-policies"]:
                target = (catalog, *query["namespace"].split("\x1f"), query["target-name"])
                if target not in self.tables:
                    raise No(404, "NoSuchTableException", "Table does not exist")
                return 200, {"applicable-policies": self.policies.get(target, [])}
        raise No(404, "NotFoundException", "no such path")

    def _token(self, form: Body) -> Body:
        for name, (client, secrets) in self.secrets.items():
            if form.get("client_id") == client and form.get("client_secret") in secrets:
                token = f"token-{name}"
                self._tokens[token] = name
                return {"access_token": token, "token_type": "bearer", "expires_in": 3600}
        raise No(401, "unauthorized_client", f"The client {form.get('client_id')} with {form.get('client_secret')}")

    def _endpoints(self) -> list[str]:
        base = ["GET /v1/{prefix}/namespaces", "GET /v1/{prefix}/namespaces/{namespace}/views"]
        newer = ["POST /v1/{prefix}/namespaces/{namespace}/register-view"] if self.version >= "1.6" else []
        return [*base, *newer]

    def _management(self, method: str, parts: list[str], body: Body) -> tuple[int, Body | None]:
        match method, parts:
            case "GET", ["catalogs"]:
                return 200, {"catalogs": list(self.catalogs.values())}
            case "POST", ["catalogs"]:
                return 201, self._create_catalog(body["catalog"])
            case "GET", ["catalogs", name]:
                return 200, self._catalog(name)
            case "PUT", ["catalogs", name]:
                return 200, self._update_catalog(self._catalog(name), body)
            case _, ["catalogs", name, "catalog-roles", *rest]:
                return self._of_catalog_roles(method, self._catalog(name)["name"], rest, body)
            case "GET", ["principals"]:
                return 200, {"principals": list(self.principals.values())}
            case "POST", ["principals"]:
                return 201, self._create_principal(body["principal"])
            case _, ["principals", name, *rest]:
                return self._of_principal(method, self._principal(name), rest, body)
            case "GET", ["principal-roles"]:
                return 200, _roles(self.principal_roles)
            case "POST", ["principal-roles"]:
                name = body["principalRole"]["name"]
                if name in self.principal_roles:
                    raise No(409, "AlreadyExistsException", f"Principal role {name} exists")
                self.principal_roles.add(name)
                return 201, {"name": name, "properties": {}, "entityVersion": 1}
            case "PUT", ["principal-roles", holder, "catalog-roles", catalog]:
                role = body["catalogRole"]["name"]
                self._known(holder, self.principal_roles)
                self._known(role, self.catalog_roles[self._catalog(catalog)["name"]])
                self.holders.setdefault((catalog, role), set()).add(holder)
                return 201, None
            case "DELETE", ["principal-roles", holder, "catalog-roles", catalog, role]:
                self.holders[catalog, role].remove(holder)
                return 204, None
        raise No(404, "NotFoundException", "no such path")

    def _create_catalog(self, catalog: Body) -> Body:
        if catalog["name"] in self.catalogs:
            raise No(409, "AlreadyExistsException", f"Catalog {catalog['name']} exists")
        self._within(catalog)
        made = {**catalog, "entityVersion": 1, "createTimestamp": 1, "lastUpdateTimestamp": 1}
        self.catalogs[catalog["name"]] = made
        self.namespaces[catalog["name"]] = set()
        self.catalog_roles[catalog["name"]] = {"catalog_admin": []}
        self.holders[catalog["name"], "catalog_admin"] = {"service_admin"}
        return made

    def _within(self, catalog: Body) -> None:
        storage, location = catalog["storageConfigInfo"], catalog["properties"]["default-base-location"]
        if not any(f"{location}/".startswith(f"{place.rstrip('/')}/") for place in storage["allowedLocations"]):
            raise No(400, "BadRequestException", "default-base-location is not within any of the allowed locations")

    def _update_catalog(self, catalog: Body, body: Body) -> Body:
        if body["currentEntityVersion"] != catalog["entityVersion"]:
            raise No(409, "CommitConflictException", "Failed to update Catalog; currentEntityVersion")
        before, after = catalog["storageConfigInfo"], body.get("storageConfigInfo", catalog["storageConfigInfo"])
        for key in ("storageType", "externalId", "tenantId"):
            if before.get(key) != after.get(key):
                raise No(400, "BadRequestException", f"Cannot modify {key} in storage config")
        changed = {**catalog, "properties": body.get("properties", catalog["properties"]), "storageConfigInfo": after}
        self._within(changed)
        catalog.update(changed, entityVersion=catalog["entityVersion"] + 1)
        return catalog

    def _of_catalog_roles(self, method: str, catalog: str, rest: list[str], body: Body) -> tuple[int, Body | None]:
        roles = self.catalog_roles[catalog]
        match method, rest:
            case "GET", []:
                return 200, _roles(roles)
            case "POST", []:
                name = body["catalogRole"]["name"]
                if name in roles:
                    raise No(409, "AlreadyExistsException", f"Catalog role {name} exists")
                roles[name] = []
                return 201, {"name": name, "properties": {}, "entityVersion": 1}
            case "GET", [role, "principal-roles"]:
                self._known(role, roles)
                return 200, _roles(self.holders.get((catalog, role), set()))
            case "GET", [role, "grants"]:
                self._known(role, roles)
                return 200, {"grants": roles[role]}
            case "PUT", [role, "grants"]:
                grant = body["grant"]
                target = tuple(grant.get("namespace", ()))
                if target and target not in self.namespaces[catalog]:
                    raise No(404, "NotFoundException", f"Namespace {'.'.join(target)} does not exist")
                if "tableName" in grant and (catalog, *target, grant["tableName"]) not in self.tables:
                    raise No(404, "NoSuchTableException", f"Table {grant['tableName']} does not exist")
                if grant not in roles[role]:
                    roles[role].append(grant)
                return 201, None
            case "POST", [role, "grants"]:
                if body["grant"] not in roles[role]:
                    raise No(404, "NotFoundException", "no such grant")
                roles[role].remove(body["grant"])
                return 201, None
        raise No(404, "NotFoundException", "no such path")

    def _create_principal(self, principal: Body) -> Body:
        name = principal["name"]
        if name in self.principals:
            raise No(409, "AlreadyExistsException", f"Principal {name} exists")
        made = {
            "name": name,
            "properties": principal.get("properties", {}),
            "entityVersion": 1,
            "clientId": f"{name}-id",
        }
        self.principals[name], self.roles_of[name] = made, set()
        self.secrets[name] = (f"{name}-id", [self._secret()])
        return self._with_credentials(name)

    def _of_principal(self, method: str, principal: Body, rest: list[str], body: Body) -> tuple[int, Body | None]:
        name = principal["name"]
        match method, rest:
            case "PUT", []:
                if body["currentEntityVersion"] != principal["entityVersion"]:
                    raise No(409, "CommitConflictException", "Failed to update Principal")
                principal.update(properties=body["properties"], entityVersion=principal["entityVersion"] + 1)
                return 200, principal
            case "GET", ["principal-roles"]:
                return 200, _roles(self.roles_of[name])
            case "PUT", ["principal-roles"]:
                role = body["principalRole"]["name"]
                self._known(role, self.principal_roles)
                self.roles_of[name].add(role)
                return 201, None
            case "DELETE", ["principal-roles", role]:
                self.roles_of[name].remove(role)
                return 204, None
            case "POST", ["rotate"]:  # the one before goes on
                client, secrets = self.secrets[name]
                self.secrets[name] = (client, [self._secret(), secrets[0]])
                return 200, self._with_credentials(name)
            case "POST", ["reset"]:
                self.secrets[name] = (self.secrets[name][0], [self._secret()])
                return 200, self._with_credentials(name)
        raise No(404, "NotFoundException", "no such path")

    def _namespaces(self, method: str, catalog: str, rest: list[str], body: Body) -> tuple[int, Body | None]:
        there = self.namespaces[catalog]
        match method, rest:
            case "GET", []:
                parent = tuple(body["parent"].split("\x1f")) if "parent" in body else ()
                return 200, {"namespaces": [list(name) for name in sorted(there) if name[:-1] == parent]}
            case "GET", [name]:
                return 200, {"namespace": name.split("\x1f"), "properties": {}}
            case "POST", []:
                levels = tuple(body["namespace"])
                if levels in there:
                    raise No(409, "AlreadyExistsException", f"Namespace {levels} exists")
                if levels[:-1] and levels[:-1] not in there:
                    raise No(404, "NoSuchNamespaceException", "Parent does not exist")
                there.add(levels)
                return 200, {"namespace": list(levels), "properties": body.get("properties", {})}
            case "HEAD", [name]:
                if tuple(name.split("\x1f")) not in there:
                    raise No(404, "NoSuchNamespaceException", "Namespace does not exist")
                return 204, None
        raise No(404, "NotFoundException", "no such path")

    def _secret(self) -> str:
        self._made += 1
        return f"s3cret-{self._made:04}"

    def _with_credentials(self, name: str) -> Body:
        client, secrets = self.secrets[name]
        return {"principal": self.principals[name], "credentials": {"clientId": client, "clientSecret": secrets[0]}}

    def _catalog(self, name: str) -> Body:
        self._known(name, self.catalogs)
        return self.catalogs[name]

    def _principal(self, name: str) -> Body:
        self._known(name, self.principals)
        return self.principals[name]

    def _known(self, name: str, names: Any) -> None:
        if name not in names:
            raise No(404, "NotFoundException", f"{name} does not exist")


def _roles(names: Any) -> Body:
    return {"roles": [{"name": name, "properties": {}, "entityVersion": 1} for name in sorted(names)]}


def _handler(server: PlayedPolaris) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize, disable_nagle_algorithm = -1, True  # an answer in one piece, at once

        def _do(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_form = "urlencoded" in self.headers.get("Content-Type", "")
            form = {key: values[0] for key, values in parse_qs(raw.decode()).items()} if is_form else {}
            body = json.loads(raw) if raw and not is_form else None
            headers = {key.lower(): value for key, value in self.headers.items()}
            try:
                status, answer = server.answer(self.command, self.path, body, form, headers)
            except No as no:
                status, answer = no.status, {"error": {"message": str(no), "type": no.kind, "code": no.status}}
            server.exchanges.append(Exchange(self.command, urlsplit(self.path).path, body, status, answer))
            if self.command != "GET" and self.path in server.lost:
                server.lost.remove(self.path)
                status, answer = 500, {"error": {"message": f"made {json.dumps(answer)}", "type": "ServerError"}}
            sent = b"" if answer is None or self.command == "HEAD" else json.dumps(answer).encode()
            self.send_response(status)
            if answer is not None:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)
            self.wfile.flush()

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _do  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler


def secrets_of(server: PlayedPolaris) -> Iterator[str]:
    """Every secret that it knows."""
    yield from (secret for _, secrets in server.secrets.values() for secret in secrets)
