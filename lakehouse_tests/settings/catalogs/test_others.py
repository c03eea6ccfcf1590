"""The other catalogs: files by name, each with its own settings; a wrong name is refused with those that there are."""

from pathlib import Path

import pytest

from lakehouse.settings import LateSecret, SettingsError, load_settings

FILES = {
    "local": "type: sql\nuri: sqlite:///${home}/catalog.db\nwarehouse: file://${home}/warehouse\n",
    "azure": "type: sql\nuri: sqlite:///${home}/azure.db\nwarehouse: file://${home}/azure\n",
    "polaris-aws": "type: rest\nuri: https://aws\nwarehouse: lake\nproperties: {credential: '${env:AWS_LOGIN}'}\n",
    "2nd": "type: rest\nuri: https://second\nwarehouse: lake\n",
}


def conf(root: Path, chosen: str) -> Path:
    folder = root / "conf"
    for name, text in FILES.items():
        file = folder / "catalogs" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    texts = {"platforms": "mode: classic\nmaster: local[1]\n", "kafka": "bootstrap_servers: 127.0.0.1:1\n"}
    for kind, text in texts.items():
        (folder / kind).mkdir()
        (folder / kind / "local.yaml").write_text(text)
    (folder / "lakehouse.yaml").write_text(f"home: ../state\ndeclarations: []\n{chosen}")
    return folder


def test_each_has_its_own_file_and_its_own_secrets(tmp_path: Path) -> None:
    settings = load_settings(conf(tmp_path, "other_catalogs: [azure, polaris-aws]\n"), {})
    assert list(settings.other_catalogs) == ["azure", "polaris-aws"]
    assert settings.other_catalogs["azure"].warehouse == f"file://{tmp_path / 'state'}/azure"
    assert isinstance(settings.other_catalogs["polaris-aws"].properties["credential"], LateSecret)
    assert settings.catalog.warehouse == f"file://{tmp_path / 'state'}/warehouse"


def test_the_environment_names_them_with_commas(tmp_path: Path) -> None:
    folder = conf(tmp_path, "")
    assert load_settings(folder, {}).other_catalogs == {}
    settings = load_settings(folder, {"LAKEHOUSE__OTHER_CATALOGS": "azure, polaris-aws"})
    assert list(settings.other_catalogs) == ["azure", "polaris-aws"]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("[azzure]", "key other_catalogs: there is no file 'azzure' .*\\. Remedy: choose from .*azure, local"),
        ("[local]", "'local' is the own catalog"),
        ("[azure, azure]", "'azure' is there twice"),
        ("['2nd']", "'2nd' should be of letters"),
        ("{azure: true}", "should be a list of names"),
    ],
)
def test_a_name_that_is_none_is_refused_by_name(tmp_path: Path, chosen: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"(?s){message}"):
        load_settings(conf(tmp_path, f"other_catalogs: {chosen}\n"), {})
