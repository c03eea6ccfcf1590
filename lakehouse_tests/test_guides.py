"""Tutorial and how-to pages do what they say: their blocks are run, from the first page of the tutorial on."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.guides import HOW_TO, ROOT, TUTORIAL, Guide, lake_conf, languages, reasons
from lakehouse_tests.orchestration.assets.house import command, write_conf

PAGES = (*TUTORIAL, *HOW_TO)
NAMES = [str(page.relative_to(ROOT / "docs")) for page in PAGES]
# Pages whose streams are withdrawn at their end: of topics or registries that nobody has made, which a run would name
# as a failure, and of a hundred tables, which every later run would look at.
WITHDRAWN = ("many-tables.md", "named-tables.md", "registries.md")
LONG = ("named-tables.md", "protobuf-topic.md")  # a hundred tables take a minute; Avro's page goes the same way
# What a test of the guides cannot have. Another reason is a test that runs the block.
LACKS = ("a browser", "a debugger", "a person", "another engine", "servers of its own")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_names_its_language(page: Path) -> None:
    assert [number for number, language in languages(page) if not language] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_block_that_is_not_run_has_a_reason_that_holds(page: Path) -> None:
    for number, reason in reasons(page).items():
        kind, _, what = reason.partition(" ")
        if kind == "run-by":
            assert page.name in (ROOT / what).read_text(encoding="utf-8"), f"{page}:{number}: {what} does not run it"
        else:
            assert (kind, what in LACKS) == ("needs", True), f"{page}:{number}: '{reason}' is no reason"


@pytest.fixture(scope="module")
def guide(
    tmp_path_factory: pytest.TempPathFactory, broker: KafkaSettings, jars: Path, spark: SparkSession
) -> Iterator[Guide]:
    """One lakehouse for all pages, as one reader would have it."""
    folder = tmp_path_factory.mktemp("guide")
    conf = write_conf(folder, broker, jars)
    environ = {"LAKEHOUSE_CONF": str(conf), "COLUMNS": "200"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("LAKEHOUSE_CONF", str(conf))
        settings = load_settings(conf, {})
        catalog = settings.catalog
        properties = {"type": catalog.type, "uri": catalog.uri, "warehouse": catalog.warehouse}
        session = spark.newSession()
        for key, value in lake_conf(settings).items():
            session.conf.set(key, value)
        yield Guide(folder, partial(command, environ=environ), {"your_properties": properties, "spark": session})


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.soak if page.name in LONG else ()) for page in PAGES], ids=NAMES
)
def test_the_blocks_of_a_page_run(guide: Guide, page: Path) -> None:
    declarations = guide.folder / "conf" / "declarations"
    before = set(declarations.rglob("*.py"))
    for _line, _language, run in guide.blocks(page):
        run()
    if page.name in WITHDRAWN:
        for file in set(declarations.rglob("*.py")) - before:
            file.unlink()
