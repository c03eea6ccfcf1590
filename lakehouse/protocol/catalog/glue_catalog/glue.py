"""AWS Glue Data Catalog, which Spark's GlueCatalog and PyIceberg share.

Tables of one step change one after another here (`reads_whole_commits`, `commits_together`): a reader may see half a
step, and each table's own seal says what it still needs.
"""

from collections.abc import Iterator, Sequence

from botocore.exceptions import ClientError
from pyiceberg.catalog.glue import GLUE_MAX_RETRIES, GLUE_SKIP_ARCHIVE, GlueCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.utils.properties import property_as_bool
from typing_extensions import override

from lakehouse.protocol.catalog.change import LakeCatalog, Locations, TableChange
from lakehouse.protocol.catalog.document import parsed
from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.catalog.glue_catalog.glue_commits import GlueCommits, answer_of, is_iceberg, location_in
from lakehouse.protocol.catalog.metadata_files import MetadataFiles, NoDocumentError, outdated_files, short_reason
from lakehouse.protocol.catalog.rest_catalog.safe_properties import code_free
from lakehouse.protocol.catalog.settled_reads import settled


class GlueLakeCatalog(GlueCatalog, LakeCatalog):
    """PyIceberg's Glue catalog with commits over several tables, one by one, and documents that keep every field."""

    reads_whole_commits = False
    commits_together = False

    def __init__(self, name: str, **properties: str) -> None:
        # boto3 wants a number.
        retries = {key: int(value) for key, value in properties.items() if key == GLUE_MAX_RETRIES}
        super().__init__(name, **{**properties, **retries})
        self._metadata_files = MetadataFiles(self.properties)
        skip_archive = property_as_bool(self.properties, GLUE_SKIP_ARCHIVE, default=True)
        self._commits = GlueCommits(self.glue, self._metadata_files, skip_archive=skip_archive)

    @override
    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        identifier = table.name()
        try:
            self.commit_tables([TableChange(identifier, requirements, updates)])
        except NoSuchTableError:  # a table about to be created: PyIceberg's own way loses nothing yet
            return super().commit_table(table, requirements, updates)
        stored = self._commits.stored(identifier)
        return CommitTableResponse.model_validate(
            {"metadata": code_free(parsed(stored.document)), "metadata-location": stored.location}
        )

    @override
    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        """Apply the changes table by table.

        Raises:
            CommitFailedException: a requirement did not hold, or another commit came first; nothing was changed.
            PartlyCommitted: the same, after other tables had changed.
            CommitStateUnknownException: an answer was lost; that change, and those before it, may have been applied.
        """
        for stored, document in self._commits.commit(changes):
            if outdated := outdated_files(stored.location, stored.document, document):
                self._metadata_files.delete_outdated(outdated, stored.location)

    @override
    def load_table(self, identifier: str | Identifier) -> Table:
        stored = self._commits.stored(self.identifier_to_tuple(identifier))
        metadata = code_free(self._metadata_files.metadata_of(stored.identifier, stored.location, stored.document))
        io = self._load_file_io(location=stored.location)
        return Table(stored.identifier, metadata, stored.location, io, self)

    @override
    def load_tables(self, identifiers: Sequence[Identifier]) -> dict[Identifier, Table]:
        return settled(self.load_table, identifiers)

    @override
    def locations(self, identifiers: Sequence[Identifier]) -> Locations:
        known, refused = dict[Identifier, str](), dict[Identifier, str]()
        for identifier in identifiers:
            try:
                known[identifier] = location_in(self._commits.entry(identifier))
            except NoSuchTableError:
                continue
            except ClientError as error:  # of this table; a silent catalog is of all
                refused[identifier] = str(error.response.get("Error", {}).get("Code", type(error).__name__))
        return Locations(known, refused)

    @override
    def entries(self) -> Iterator[Entry]:
        for database in self.list_namespaces():
            pages = self.glue.get_paginator("get_tables").paginate(DatabaseName=database[0])
            listed = answer_of(lambda pages=pages: [table for page in pages for table in page["TableList"]])
            for table in filter(is_iceberg, listed):
                identifier, location = (database[0], str(table["Name"])), location_in(table)
                try:
                    yield Entry.of(identifier, location, self._metadata_files.read(location))
                except (OSError, ValueError, NoDocumentError) as error:
                    yield Entry(identifier, location, unreadable=short_reason(error))

    @override
    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        """Storage as the catalog's settings say; what a table's properties say is not asked."""
        return load_file_io(self.properties, location)
