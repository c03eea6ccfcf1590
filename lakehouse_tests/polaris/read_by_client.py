"""Reads requests and answers with the classes of Polaris' own client, which are made from Polaris' OpenAPI description.

Run in a process of its own, with the folder of that client on its path: `python read_by_client.py EXCHANGES`. Each line
of the file is `[method, path, body, status, answer]`. It prints what no class takes, or what a class has no field for,
and ends with 1 if there is any.
"""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

NAME = "[^/]+"
# Method and path below /api/management/v1: the class of the request, that of the answer.
OPERATIONS = {
    "GET /principals": (None, "Principals"),
    "POST /principals": ("CreatePrincipalRequest", "PrincipalWithCredentials"),
    f"PUT /principals/{NAME}": ("UpdatePrincipalRequest", "Principal"),
    f"POST /principals/{NAME}/rotate": (None, "PrincipalWithCredentials"),
    f"POST /principals/{NAME}/reset": ("ResetPrincipalRequest", "PrincipalWithCredentials"),
    f"GET /principals/{NAME}/principal-roles": (None, "PrincipalRoles"),
    f"PUT /principals/{NAME}/principal-roles": ("GrantPrincipalRoleRequest", None),
    f"DELETE /principals/{NAME}/principal-roles/{NAME}": (None, None),
    "GET /principal-roles": (None, "PrincipalRoles"),
    "POST /principal-roles": ("CreatePrincipalRoleRequest", "PrincipalRole"),
    f"PUT /principal-roles/{NAME}/catalog-roles/{NAME}": ("GrantCatalogRoleRequest", None),
    f"DELETE /principal-roles/{NAME}/catalog-roles/{NAME}/{NAME}": (None, None),
    "GET /catalogs": (None, "Catalogs"),
    "POST /catalogs": ("CreateCatalogRequest", "Catalog"),
    f"PUT /catalogs/{NAME}": ("UpdateCatalogRequest", "Catalog"),
    f"GET /catalogs/{NAME}/catalog-roles": (None, "CatalogRoles"),
    f"POST /catalogs/{NAME}/catalog-roles": ("CreateCatalogRoleRequest", "CatalogRole"),
    f"GET /catalogs/{NAME}/catalog-roles/{NAME}/principal-roles": (None, "PrincipalRoles"),
    f"GET /catalogs/{NAME}/catalog-roles/{NAME}/grants": (None, "GrantResources"),
    f"PUT /catalogs/{NAME}/catalog-roles/{NAME}/grants": ("AddGrantRequest", None),
    f"POST /catalogs/{NAME}/catalog-roles/{NAME}/grants": ("RevokeGrantRequest", None),
}
PREFIX = "/api/management/v1"
DEFAULTS = {"pathStyleAccess": False, "federated": False}


def problem(kind: str | None, value: Any) -> str | None:
    """What a class says against a value; None if it takes all of it."""
    if kind is None:
        return f"a body where there is none: {value}" if value else None
    models = importlib.import_module("apache_polaris.sdk.management.models")  # no package of ours has it
    try:
        taken = getattr(models, kind).from_dict(value).to_dict()
    except Exception as error:  # noqa: BLE001 # of any class: that it does not take the value is what is told
        return f"{kind}: {type(error).__name__}: {error}"
    return None if normalized(taken) == normalized(value) else f"{kind}: read as {taken}"


def normalized(value: Any) -> Any:
    """A value without what says nothing."""
    if isinstance(value, dict):
        return {
            key: normalized(below)
            for key, below in value.items()
            if below not in (None, {}) and not (key in DEFAULTS and below == DEFAULTS[key])
        }
    if hasattr(value, "get_secret_value"):
        return value.get_secret_value()
    return [normalized(item) for item in value] if isinstance(value, list) else value


def main(file: Path) -> int:
    """Read them all."""
    problems, read = [], 0
    for line in file.read_text(encoding="utf-8").splitlines():
        method, path, body, status, answer = json.loads(line)
        if not path.startswith(PREFIX) or status >= 400:
            continue
        asked = f"{method} {path.removeprefix(PREFIX)}"
        kinds = next((kinds for known, kinds in OPERATIONS.items() if re.fullmatch(known, asked)), None)
        read += 1
        if kinds is None:
            problems.append(f"{asked}: no operation of Polaris")
            continue
        pairs = zip(kinds, (body, answer), strict=True)
        problems += [f"{asked}: {wrong}" for kind, value in pairs if (wrong := problem(kind, value)) is not None]
    print("\n".join(problems) or f"{read} read")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
