"""A lakehouse as a component of a Dagster project: a `defs.yaml` names its declarations and its settings."""

import os
from pathlib import Path

import dagster as dg
from dagster.components import ComponentLoadContext, Scaffolder, ScaffoldRequest, scaffold_component, scaffold_with
from pydantic import Field
from typing_extensions import override


class _LakehouseScaffolder(Scaffolder):
    """What `dg scaffold defs` writes: an example of declarations beside the `defs.yaml`, and settings for a laptop."""

    @override
    def scaffold(self, request: ScaffoldRequest) -> None:
        from lakehouse.cli.project import write_component

        root = request.project_root or request.target_path
        conf = write_component(root, request.target_path)
        scaffold_component(request, {"conf": os.path.relpath(conf, request.target_path)})


@scaffold_with(_LakehouseScaffolder)
class LakehouseComponent(dg.Component, dg.Model, dg.Resolvable):
    """Streams, mirrors, derived tables and releases, with their checks and sensors.

    Attributes:
        declarations: folders of declarations, relative to the `defs.yaml`; or packages, as `package=shop.tables`. As
            the settings say if none is given.
        conf: the folder of settings, relative to the `defs.yaml`; else `LAKEHOUSE_CONF`, else `conf/` of the project.
        asset_key_prefix: what stands before the names of tables in asset keys; as the settings say if none is given.
        demo: whether what is declared with the owner `demo` takes part.
        resource_keys: other keys for `lake`, `spark` and `lake_io_manager`.
    """

    declarations: list[str] = Field(default_factory=list[str])
    conf: str | None = None
    asset_key_prefix: str | None = None
    demo: bool = False
    resource_keys: dict[str, str] = Field(default_factory=dict[str, str])

    @override
    def build_defs(self, context: ComponentLoadContext) -> dg.Definitions:
        """Make the definitions; no connection is opened.

        Raises:
            SettingsError: the settings cannot be read, or a package of declarations is not there.
            DeclarationError: a folder of declarations is missing.
        """
        from lakehouse.garbage import uncollected

        with uncollected():
            from lakehouse.build import build_defs
            from lakehouse.settings import load_settings
            from lakehouse.settings.loading import declaration_folder
            from lakehouse.settings.shipped import default_conf

        folder = context.path if context.path.is_dir() else context.path.parent
        settings = load_settings(self._conf(folder) or (None if _chosen() else default_conf(folder)))
        where = f"{folder / 'defs.yaml'}, key declarations"
        changes: dict[str, object] = {"demo": self.demo}
        if self.declarations:
            changes["declarations"] = tuple(declaration_folder(folder, text, where) for text in self.declarations)
        if self.asset_key_prefix is not None:
            given = {**settings.dagster.model_dump(), "asset_key_prefix": self.asset_key_prefix}
            changes["dagster"] = type(settings.dagster).model_validate(given)
        return build_defs(settings.model_copy(update=changes), resource_keys=self.resource_keys)

    def _conf(self, folder: Path) -> Path | None:
        return (folder / self.conf).resolve() if self.conf else None


def _chosen() -> bool:
    return bool(os.environ.get("LAKEHOUSE_CONF"))
