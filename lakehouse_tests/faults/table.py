"""Every fault that is injected: the one table that `docs/reference/faults.md` shows."""

from lakehouse_tests.faults.fault import Fault

_MACHINE = "faults/test_lake_machine.py::test_books_balance_whatever_happens"
_LAST_MOMENT = "protocol/commit/test_last_moment.py::test_at_the_last_moment"
_FULL = "faults/test_full_disk.py::"
_ENDING = "orchestration/assets/test_ending.py::"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "A process is killed between its data files and its commit",
        "Its files are on no branch, or on a branch of its own, and nobody reads them. The next run reads the same "
        "offsets again. Housekeeping removes the branch, orphan removal the files.",
        ("two looks", "known files", "young files"),
        (
            "protocol/commit/test_kills.py::test_killed_at",
            "steps/ingest/test_kills.py::test_the_run_after_a_killed_one_completes_it",
            "steps/ingest/test_faults_while_reading.py::test_a_worker_is_killed_while_it_writes",
            _MACHINE,
        ),
    ),
    Fault(
        "A process is killed between its commit and the word that it has landed",
        "The position is in the seal, in the same commit as the rows. The next run goes on from there.",
        ("repeated seal", "seal chain"),
        ("protocol/commit/test_kills.py::test_killed_at", _MACHINE),
    ),
    Fault(
        "The catalog answers 5xx, or not at all, after it has applied a commit",
        "The publish looks for its own head in the history of main, and sends again only what is not there. No file "
        "is deleted.",
        ("landed head",),
        ("protocol/commit/test_lost_answers.py::test_publish_survives_a_lost_answer", _MACHINE),
    ),
    Fault(
        "A retry meets its own success",
        "It is recognised by the id of its head, and ends well.",
        ("landed head", "rollback check"),
        (
            "protocol/commit/test_lost_answers.py::test_staging_and_sealing_survive_a_lost_answer",
            "protocol/commit/test_publish.py::test_publishing_again_recognises_its_own_commit",
            _MACHINE,
        ),
    ),
    Fault(
        "Two runs at once; a run that was taken for dead, and goes on",
        "One lands. The other is superseded, and changes nothing, however late it comes.",
        ("fence", "twin check", "descent check", "compare and swap"),
        (
            "protocol/commit/test_twins.py::test_of_two_appends_one_lands",
            "faults/test_stopped.py::test_a_twin_publishes_meanwhile",
            _LAST_MOMENT,
            _MACHINE,
        ),
    ),
    Fault(
        "A crash in the middle of a commit of several tables",
        "All of them moved, or none.",
        ("compare and swap", "synced files"),
        (
            "protocol/commit/test_random_kills.py::test_both_moved_or_none",
            "protocol/commit/test_power_cut.py::test_a_publish_is_there_whole_or_not_at_all",
            _MACHINE,
        ),
    ),
    Fault(
        "A table is dropped, or made anew, under a step",
        "The step is refused by the table's UUID. A stream does not go on beside a table that was emptied.",
        ("table identity", "emptied table"),
        (
            "protocol/commit/test_publish.py::test_a_table_dropped_and_made_anew_is_refused",
            "steps/ingest/test_position.py::test_a_table_made_anew_beside_sealed_ones",
        ),
    ),
    Fault(
        "A topic is deleted and made anew, or cut and filled again",
        "The seal has the topic's and the cluster's id. The run is refused, also where it became another while it was "
        "read.",
        ("topic identity", "truncated log", "identity after reading"),
        (
            "steps/ingest/test_refusals.py::test_the_topic_was_deleted_and_made_anew",
            "steps/ingest/test_refusals.py::test_the_topic_was_made_anew_while_it_was_read",
        ),
    ),
    Fault(
        "Retention takes records before they are read, or while they are",
        "The run fails and names the lost range. Only a person accepts it, and the loss ledger has it.",
        ("retention check", "retention while reading", "loss ledger"),
        (
            "steps/ingest/test_refusals.py::test_retention_overtook_the_position",
            "steps/ingest/test_refusals.py::test_retention_overtakes_while_it_is_read",
        ),
    ),
    Fault(
        "Partitions are added; a log has gaps of transactions or compaction",
        "New partitions are read from their beginning. A gap that the log does not explain is looked at again, and "
        "named.",
        ("read as planned", "second look at gaps", "last stable offset"),
        (
            "steps/ingest/test_starts.py::test_partitions_that_are_added_later_are_read_from_their_beginning",
            "steps/ingest/test_starts.py::test_aborted_records_are_not_read_and_their_offsets_are_no_loss",
        ),
    ),
    Fault(
        "A record that cannot be read or decoded",
        "It goes to quarantine with its bytes, place and reason. Too many of them stop the stream.",
        ("quarantine gate", "blame of a record"),
        (
            "steps/ingest/test_routes.py::test_records_go_where_their_field_says_and_the_rest_to_quarantine",
            "steps/ingest/read/test_narrowing.py::test_the_only_record_of_a_range_is_to_blame_if_one_before_it_can_be_read",
        ),
    ),
    Fault(
        "A schema changes in the middle of a step, or so that data would be lost",
        "The step is refused, and run again with the new schema. What would lose data is not applied.",
        ("schema check", "layout check"),
        (
            "protocol/commit/test_publish.py::test_a_changed_schema_is_refused",
            "declarations/schema_changes/test_plan.py::test_what_would_lose_data_is_refused",
        ),
    ),
    Fault(
        "A broker is killed and comes back while it is read",
        "Spark reads on, or fails within its bound; the next run reads the same range. Each record is there once.",
        ("read as planned", "tally"),
        (
            "steps/ingest/test_faults_while_reading.py::test_a_broker_is_killed_while_it_is_read",
            "engines/kafka/local/test_local_broker.py::test_a_broker_keeps_its_address_and_its_records_through_stop_and_kill",
        ),
    ),
    Fault(
        "A full disk",
        "One error says that it is full. Nothing is half there, and no record is suspected. With room the next run "
        "completes.",
        ("full disk",),
        (
            _FULL + "test_an_ingest",
            _FULL + "test_an_expiry",
            _FULL + "test_a_rewrite",
            _FULL + "test_orphan_removal",
            "faults/test_full_disk_mirror.py::test_at_each_point_of_a_merge",
            "faults/test_full_disk_dagster.py::test_before_a_run",
            "faults/test_full_disk_dagster.py::test_within_a_step",
            "steps/ingest/read/test_readable.py::test_no_record_is_suspected_while_the_disk_is_full",
        ),
    ),
    Fault(
        "A snapshot expires under its reader",
        "Who reads in ranges has a lease, who reads for a run a pin: neither trimming nor expiry takes what they hold.",
        ("lease", "holders", "pins", "references"),
        (
            "protocol/leases/test_lease.py::test_a_lagging_reader_finds_its_whole_range_after_many_publishes",
            "steps/derived/inputs/test_pins.py::test_a_pinned_snapshot_outlives_trimming",
            _MACHINE,
        ),
    ),
    Fault(
        "A clock that is slow, ahead, or jumps",
        "Identities are ids and descent, never times. A slow clock is refused, and so is one that is ahead of the "
        "storage's.",
        ("time written", "clock refusal", "clock of the storage", "the store's clock", "runtime date"),
        (
            "protocol/catalog/test_document.py::test_a_table_ahead_of_our_clock",
            "protocol/catalog/test_clock.py::test_a_clock_that_is_ahead_is_refused_and_a_true_one_goes_on",
            _MACHINE,
        ),
    ),
    Fault(
        "A producer sends a record again",
        "It is a record with an offset of its own, and lands. Where a table has a key, the first of each stays, and "
        "what goes is counted by partition.",
        ("tally",),
        ("steps/maintenance/deduplicate/test_deduplicate.py::test_the_first_of_each_key_stays",),
    ),
    Fault(
        "Rewrites, changes and ingests meet",
        "A rewrite is put on the newer head, where its files are still there. An append goes on top of a rewrite; what "
        "removed rows is planned anew.",
        ("proof of a rewrite", "rewrite on its way"),
        (
            "protocol/commit/test_compaction.py::test_publish_after_a_compaction_that_removed_the_bases_files",
            "protocol/commit/test_compaction.py::test_a_merge_is_not_rebased",
            _MACHINE,
        ),
    ),
    Fault(
        "Credentials end within a step",
        "A token is renewed once. Where that fails, one line says so and what to do; nothing was published.",
        ("credentials that end",),
        (
            "faults/test_credentials.py::test_a_token_that_ends_before_the_commit_is_renewed",
            "faults/test_credentials.py::test_credentials_that_end_within_a_step",
        ),
    ),
    Fault(
        "Dagster, or a run, dies after the publish and before its event",
        "A sensor finds the seal, and reports the materialization.",
        ("unreported publish",),
        (_ENDING + "test_killed_before_dagster_hears_of_the_publish_nothing_is_lost_and_nothing_doubled",),
    ),
    Fault(
        "An old run is repeated late",
        "A run of an older date never replaces a newer one, unless a backfill is declared.",
        ("newer rows", "date of the winner"),
        ("steps/derived/test_newer_rows.py::test_an_older_date_over_a_newer_one",),
    ),
    Fault(
        "An operator sets a table back, alone or with its siblings, and forward again",
        "What was taken back does not come to life by itself. A table that stands elsewhere than its siblings stops "
        "the stream.",
        ("sibling check", "rollback check", "history check", "descent check"),
        (
            "steps/ingest/test_refusals.py::test_one_table_was_rolled_back_alone",
            "protocol/commit/test_publish.py::test_rolled_back_rows_do_not_come_back_to_life",
            _MACHINE,
        ),
    ),
    Fault(
        "The power is cut",
        "What is found is the state before a publish or after it, whole.",
        ("synced files", "synced folders", "synced documents of Spark", "synced commits"),
        (
            "protocol/commit/test_power_cut.py::test_a_publish_is_there_whole_or_not_at_all",
            "protocol/commit/test_power_cut.py::test_work_goes_on_after_a_power_cut",
        ),
    ),
)
