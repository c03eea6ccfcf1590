"""An Iceberg REST catalog (Polaris): one `transactions/commit` changes all tables of a step."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus

import msgspec
from pydantic import ValidationError
from pyiceberg.catalog.rest import Endpoints, RestCatalog, TableResponse
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    CommitStateUnknownException,
    NoSuchTableError,
    OAuthError,
    RESTError,
    UnauthorizedError,
)
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableRequest, CommitTableResponse, Namespace, StagedTable, Table, TableIdentifier
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from requests import HTTPError, RequestException, Response, Session
from typing_extensions import override

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog.change import LakeCatalog, Locations, TableChange
from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.catalog.rest_catalog.lent_storage import renewing
from lakehouse.protocol.catalog.rest_catalog.rest_responses import (
    RENEW,
    TOKEN_ENDED,
    LoadedDocument,
    raise_for_response,
    short_reason,
)
from lakehouse.protocol.catalog.rest_catalog.rest_session import guard, hide_lent_keys
from lakehouse.protocol.catalog.rest_catalog.safe_properties import code_free, names_code, without_code
from lakehouse.protocol.catalog.settled_reads import settled

# (connect, read), of a commit: a catalog that hangs is one whose answer is lost.
_PATIENCE_SECONDS = (30, 180)
hide_lent_keys()
_CREDENTIALS_REFUSED = (UnauthorizedError, AuthorizationExpiredError, OAuthError)


# Of one table: the catalog refuses it, or says of it what nobody can read.
REFUSALS = (HTTPError, RESTError, msgspec.MsgspecError, RecursionError)


class CredentialsRefused(LakehouseError, UnauthorizedError):
    """The catalog does not, or no longer, take our credentials."""


class RestLakeCatalog(RestCatalog, LakeCatalog):
    """PyIceberg's REST catalog with commits and consistent reads over several tables."""

    reads_whole_commits = False  # the specification does not promise it, though Polaris keeps it

    @override
    def _config_headers(self, session: Session) -> None:
        # The first that is done with a new session: also what asks for a token is not waited for without end.
        guard(session)
        super()._config_headers(session)

    @override
    def _fetch_config(self) -> None:
        """Take the server's settings, but for those that name a class: such are ours alone."""
        class_settings = {key: value for key, value in self.properties.items() if names_code(key)}
        super()._fetch_config()
        self.properties = {**without_code(self.properties), **class_settings}

    @override
    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        """Storage as the settings and the server say, the latter without code."""
        return super()._load_file_io(without_code(properties), location)

    @override
    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: TableResponse) -> Table:
        # Of the answer, what the server says of storage counts, and what the table says of itself does not.
        table = super()._response_to_table(identifier_tuple, _without_properties(table_response))
        table.metadata = code_free(table_response.metadata)
        table.io = renewing(table.io, partial(self._storage_of, identifier_tuple))
        return table

    def _storage_of(self, identifier: Identifier) -> Properties:
        """How the files of a table are reached by now."""
        return self.load_table(identifier).io.properties

    @override
    def _response_to_staged_table(
        self, identifier_tuple: tuple[str, ...], table_response: TableResponse
    ) -> StagedTable:
        table = super()._response_to_staged_table(identifier_tuple, _without_properties(table_response))
        table.metadata = code_free(table_response.metadata)
        return table

    @override
    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        try:
            response = super().commit_table(table, requirements, updates)
        except ValidationError as error:
            name = name_of(table.name())
            raise CommitStateUnknownException(f"{name}: what answered the commit is no catalog") from error
        return response.model_copy(update={"metadata": code_free(response.metadata)})

    @override
    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        body = ",".join(
            CommitTableRequest(
                identifier=TableIdentifier(
                    namespace=Namespace(list(change.identifier[:-1])), name=change.identifier[-1]
                ),
                requirements=change.requirements,
                updates=change.updates,
            ).model_dump_json(by_alias=True)
            for change in changes
        )
        raise_for_response(self._post_renewed(f'{{"table-changes":[{body}]}}'.encode()), changes)

    def _post_renewed(self, request: bytes) -> Response:
        """The answer to a commit, with another token where the one that we have has ended."""
        response = self._post_commit(request)
        if response.status_code in TOKEN_ENDED:  # so it was not done
            with suppress(*_CREDENTIALS_REFUSED):  # the answer that is there says so already
                self._refresh_token()
                response = self._post_commit(request)
        return response

    def _post_commit(self, request: bytes) -> Response:
        try:
            return self._session.post(self.url("transactions/commit"), data=request, timeout=_PATIENCE_SECONDS)
        except RequestException as error:
            raise CommitStateUnknownException(
                f"The catalog did not answer the commit: {type(error).__name__}"
            ) from error

    @override
    def load_table(self, identifier: str | Identifier) -> Table:
        try:
            return super().load_table(identifier)
        except _CREDENTIALS_REFUSED as error:  # PyIceberg has renewed the token, or tried to
            name = name_of(self.identifier_to_tuple(identifier))
            message = f"{name}: the catalog refuses our credentials ({type(error).__name__})."
            raise CredentialsRefused(message, remedy=RENEW) from error

    @override
    def load_tables(self, identifiers: Sequence[Identifier]) -> dict[Identifier, Table]:
        return settled(self.load_table, identifiers)

    @override
    def locations(self, identifiers: Sequence[Identifier]) -> Locations:
        locations, refusals = dict[Identifier, str](), dict[Identifier, str]()
        for identifier in identifiers:
            try:
                locations[identifier] = self._answer(identifier).metadata_location
            except NoSuchTableError:
                continue
            except REFUSALS as error:  # of this table; a silent catalog is of all
                refusals[identifier] = short_reason(error)
        return Locations(locations, refusals)

    @override
    def entries(self) -> Iterator[Entry]:
        for identifier in sorted(set(self._tables(()))):
            try:
                answer = self._answer(identifier)
            except NoSuchTableError:
                if identifier in self.list_tables(identifier[:-1]):  # otherwise dropped since it was listed
                    yield Entry(identifier, "", unreadable="the catalog lists it, and says that it does not exist")
            except REFUSALS as error:
                yield Entry(identifier, "", unreadable=short_reason(error))
            else:
                yield Entry.of(identifier, answer.metadata_location, answer.metadata)

    def _tables(self, namespace: Identifier) -> Iterator[Identifier]:
        for child in self.list_namespaces(namespace):
            if child[: len(namespace)] == namespace and len(child) > len(namespace):
                yield from self.list_tables(child)
                yield from self._tables(child)

    def _answer(self, identifier: Identifier) -> "LoadedDocument":
        """What the server says of a table, also of one whose document nobody here can read.

        Raises:
            NoSuchTableError: it does not exist.
            HTTPError: the server refused to say.
            RequestException: it did not answer.
        """
        url = self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(identifier))
        response = self._session.get(url)
        if response.status_code in TOKEN_ENDED:
            self._refresh_token()
            response = self._session.get(url)
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise NoSuchTableError(f"Table does not exist: {name_of(identifier)}")
        response.raise_for_status()
        return msgspec.json.decode(response.content, type=LoadedDocument)

    @override
    def _delete_old_metadata(self, io: FileIO, base: TableMetadata, metadata: TableMetadata) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing: the server deletes them, which knows all entries."""


def _without_properties(response: TableResponse) -> TableResponse:
    return response.model_copy(update={"metadata": response.metadata.model_copy(update={"properties": {}})})
