"""What keeps somebody who may write elsewhere from starting runs here."""

from dataclasses import replace
from typing import Any

from dagster import DefaultSensorStatus
from pyiceberg.io import FileIO, load_file_io

from lakehouse.protocol.catalog import Locations
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, answers, gives


def _any_file(_: Function) -> Function:
    return lambda location, files: list(files)


def _everything(original: Function) -> Function:
    return lambda metadata: metadata


def _table_decides(original: Function) -> Function:
    """As PyIceberg has it: what a table says of storage lies over what the settings say."""

    def passing(self: Any, properties: dict[str, str], location: str) -> FileIO:
        return load_file_io({**self.properties, **properties}, location)

    return passing


_PATIENCE = "protocol/catalog/rest_catalog/test_timeouts.py::"
_SESSION = "protocol/catalog/rest_catalog/test_rest_session.py::"
_RENEWALS = "protocol/catalog/rest_catalog/test_lent_renewals.py::"
_SHARING = "protocol/cleanup/test_shared_files.py::"
_PROPERTIES = "protocol/catalog/rest_catalog/test_safe_properties.py::"
_WEB = "orchestration/web/test_server.py::"
SERVERS = (
    Mechanism(
        name="own page alone",
        promise="P5: Any web page that is open in a browser starts runs, and such a run deletes.",
        keeps="lakehouse.orchestration.web.request_guard:reason_to_refuse",
        lets_pass=gives(""),
        guard=_WEB + "test_another_page_starts_nothing",
    ),
    Mechanism(
        name="no change by GET",
        promise="P5: A link or a picture of another web page starts runs.",
        keeps="lakehouse.orchestration.web.server:_only_reads",
        lets_pass=gives(True),
        guard=_WEB + "test_a_get_reads_alone",
    ),
    Mechanism(
        name="no code of a table",
        promise="P5: A table that somebody has registered runs code here, and is handed the catalog's secrets.",
        keeps="lakehouse.protocol.catalog.rest_catalog.safe_properties:code_free",
        lets_pass=_everything,
        guard=_PROPERTIES + "test_what_a_commit_changes_keeps_what_others_have_set",
    ),
    Mechanism(
        name="storage of the settings",
        promise="P5: A table's property sends the catalog's secrets to an endpoint of somebody else.",
        keeps="lakehouse.protocol.catalog.sql_catalog.sql:SqlLakeCatalog._load_file_io",
        lets_pass=_table_decides,
        guard=_PROPERTIES + "test_the_properties_of_a_table_choose_neither_code_nor_storage[sql_lake]",
    ),
    Mechanism(
        name="a second entry is a finding",
        promise="P1: A table is registered a second time, the two go on apart, and the audit finds every promise kept.",
        keeps="lakehouse.protocol.cleanup.shared_files:shared_among",
        lets_pass=gives({}),
        guard="cli/commands/prove/kinds/test_entries.py::test_a_second_entry_of_a_table_is_named",
    ),
    Mechanism(
        name="files of one entry",
        promise="P5: Expiry, orphan removal or a dropped branch take files from another entry of the catalog.",
        keeps="lakehouse.protocol.cleanup.shared_files:_shared",
        lets_pass=gives(""),
        guard=_SHARING + "test_expiry_takes_no_file_from_another_entry[sql_lake]",
    ),
    Mechanism(
        name="metadata of one entry",
        promise="P5: A commit deletes the document on which another entry of the catalog stands.",
        keeps="lakehouse.protocol.catalog.sql_catalog.sql:SqlLakeCatalog._lies_with_others",
        lets_pass=gives(False),
        guard=_SHARING + "test_old_metadata_of_another_entry_stay[together]",
    ),
    Mechanism(
        name="metadata of its own",
        promise="P5: Whoever may write a table's metadata lets the next commit delete any file as an old version.",
        keeps="lakehouse.protocol.catalog.metadata_files:_beside",
        lets_pass=_any_file,
        guard="iceberg/test_own_files.py::test_a_commit_leaves_a_file_that_calls_itself_old_metadata",
    ),
    Mechanism(
        name="patience with a catalog",
        promise="P5: A catalog that is silent holds a run, and the pool of its tables, for ever.",
        keeps="lakehouse.protocol.catalog.rest_catalog.timeouts:patient",
        lets_pass=gives(None),
        guard=_PATIENCE + "test_a_silent_catalog_is_not_waited_for_without_end",
    ),
    Mechanism(
        name="a commit is not read elsewhere",
        promise="P1: A proxy that sends a commit elsewhere has it taken for published, and its rows are lost.",
        keeps="lakehouse.protocol.catalog.rest_catalog.rest_session:refuse_elsewhere",
        lets_pass=gives(None),
        guard=_SESSION + "test_a_commit_that_is_sent_elsewhere_to_be_read_is_not_done[302]",
    ),
    Mechanism(
        name="no words of a catalog",
        promise="P5: A secret that a server repeats in its answer is shown in the run's events.",
        keeps="lakehouse.protocol.catalog.rest_catalog.rest_session:_without_words",
        lets_pass=gives(None),
        guard=_SESSION + "test_the_words_of_a_server_go_no_further[error-403]",
    ),
    Mechanism(
        name="keys that still hold",
        promise="P5: A job ends because one renewal of its keys lent less than before, though they hold for minutes.",
        keeps="lakehouse.protocol.catalog.rest_catalog.lent_storage:_lacks",
        lets_pass=gives(False),
        guard=_RENEWALS + "test_what_holds_stays_where_a_renewal_lends_less_or_fails[PyArrowFileIO-nothing]",
    ),
    Mechanism(
        name="refused tables",
        promise="P5: A table that the catalog refuses is taken for one that was dropped, and nobody hears of it.",
        keeps="lakehouse.protocol.catalog.rest_catalog.rest:RestLakeCatalog.locations",
        lets_pass=answers(lambda locations: Locations(locations.known)),
        guard=_PATIENCE + "test_one_table_that_is_refused_hides_no_other",
    ),
    Mechanism(
        name="silent server",
        promise="P1: Records wait for ever behind a server that is alive and answers nothing, and nobody is told.",
        keeps="lakehouse.cli.processes.supervision:Supervised._is_silent",
        lets_pass=gives(False),
        guard="cli/processes/test_supervision.py::test_one_that_is_alive_and_silent_is_ended_and_started_again",
    ),
    Mechanism(
        name="verdict of a snapshot",
        promise="P1: A verdict on an earlier snapshot is taken for one on what the table holds now.",
        keeps="lakehouse.cli.processes.kept_verdicts:_stands",
        lets_pass=gives(True),
        guard="cli/processes/test_kept_verdicts.py::test_it_stands_on_the_same_snapshot_alone",
    ),
    Mechanism(
        name="verdict without files",
        promise="P1: Files are gone, and a verdict of last week says that all is well.",
        keeps="lakehouse.cli.processes.kept_verdicts:_is_whole",
        lets_pass=gives(True),
        guard="cli/processes/test_kept_verdicts.py::test_a_file_that_is_gone_ends_it",
    ),
    Mechanism(
        name="verdict of what it is compared with",
        promise="P1: Another table has changed, and a verdict that compares with it is taken for one of now.",
        keeps="lakehouse.orchestration.checks.judged_state:_next",
        lets_pass=gives(()),
        guard="cli/processes/test_kept_verdicts.py::test_what_a_table_is_compared_with_ends_it_as_well",
    ),
    Mechanism(
        name="mirrored position",
        promise="P1: Tools that watch lag are told of a position that no table holds, or of none at all.",
        keeps="lakehouse.steps.ingest.position_mirror:mirror_position",
        lets_pass=gives(None),
        guard="orchestration/assets/test_stream.py::"
        "test_the_position_of_an_ingest_is_in_the_streams_consumer_group_where_that_is_asked_for",
    ),
    Mechanism(
        name="trouble told",
        promise="P1: A stream stands still behind a broker that is away, and its tables look as fresh as ever.",
        keeps="lakehouse.orchestration.checks.stream.verdict:Verdict.events",
        lets_pass=gives([]),
        guard="orchestration/automation/test_stream_sensor.py::"
        "test_an_absent_broker_fails_the_tables_check_once_until_it_is_back",
    ),
    Mechanism(
        name="deleting switched on",
        promise="P5: Snapshots and files are deleted in a Dagster where nobody has asked for it.",
        keeps="lakehouse.orchestration.automation.sensor_options:SensorOptions.of",
        lets_pass=answers(lambda options: replace(options, maintenance_status=DefaultSensorStatus.RUNNING)),
        guard="orchestration/automation/test_sensor_options.py::test_what_deletes_is_switched_off_until_somebody_says_so",
    ),
    Mechanism(
        name="unreported publish",
        promise="P1: What a killed run published is in the table, and Dagster shows that it never was.",
        keeps="lakehouse.orchestration.automation.reconcile_materializations:unreported_materializations",
        lets_pass=gives([]),
        guard="orchestration/automation/test_reconcile_materializations.py::"
        "test_what_a_lost_run_published_is_reported_once",
    ),
)
