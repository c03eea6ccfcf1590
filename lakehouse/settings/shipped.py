"""What the package brings beside its code: settings, JAR locks, the demo's declarations, the files of a new project.

All of it is below `lakehouse/shipped`. In a clone that folder links to `conf/`, `dagster.yaml` and `workspace.yaml` of
the repository, and a wheel holds what the links lead to. So there is one copy of each file, and one way to it.
"""

from importlib.resources import files
from pathlib import Path

from lakehouse.settings.error import SettingsError

SELECTION = "lakehouse.yaml"


def shipped(*parts: str) -> Path:
    """A file or folder that the package brings, such as `shipped("conf", "jars")`."""
    return Path(str(files("lakehouse")), "shipped", *parts)


def locked_jars(conf: Path, project: str) -> Path:
    """The folder that holds `pom.xml` and `jars.sha256` of a set of JARs: that of `conf/`, else the shipped one.

    Args:
        conf: the folder of settings; a project that loads JARs of its own has such a folder there.
        project: `jars` for those of Spark, `broker` for those of the local Kafka broker.
    """
    own = conf / project
    return own if own.is_dir() else shipped("conf", project)


def instance_file(conf: Path) -> Path:
    """The `dagster.yaml` of an instance of ours: that of the project around `conf/`, else the shipped one."""
    own = conf.parent / "dagster.yaml"
    return own if own.is_file() else shipped("dagster.yaml")


def conf_of_clone() -> Path | None:
    """The folder of settings of the clone that the package is used from; None where a wheel is installed."""
    return shipped("conf").resolve() if shipped("conf").is_symlink() else None


def default_conf(directory: Path) -> Path:
    """The folder of settings where none is named: that of the project around a directory, else that of a clone.

    Args:
        directory: where to begin; the folders above it are looked at too.

    Raises:
        SettingsError: there is no project, and the package is installed from a wheel.
    """
    for folder in (directory, *directory.parents):
        if _is_project(folder / "conf"):
            return folder / "conf"
    if (own := conf_of_clone()) is not None:  # whose settings are used from wherever it is called
        return own
    raise SettingsError(
        f"There is no conf/{SELECTION} in {directory}, nor in a folder above it.",
        remedy="go into a project's folder, make one with `lakehouse init DIR`, or set LAKEHOUSE_CONF to a folder that "
        f"holds {SELECTION}",
    )


def _is_project(conf: Path) -> bool:
    """Whether a folder has the file, readable or not: passed over, it would be another lake that a command works on."""
    try:
        if not conf.is_dir():
            return False
    except PermissionError:  # of a folder above, which may be anybody's
        return False
    try:
        (conf / SELECTION).lstat()
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    return True
