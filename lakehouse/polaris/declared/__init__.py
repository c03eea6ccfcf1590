"""What is declared of a Polaris server: catalogs with their storage, roles with privileges, principals."""

from lakehouse.polaris.declared.catalog import CatalogRole, PolarisCatalog
from lakehouse.polaris.declared.loading import load_polaris, polaris_names
from lakehouse.polaris.declared.server import PolarisPrincipal, PolarisServer

__all__ = ["CatalogRole", "PolarisCatalog", "PolarisPrincipal", "PolarisServer", "load_polaris", "polaris_names"]
