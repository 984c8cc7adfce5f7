"""The store in one SQLite file, for a single gateway.

In: records and pieces. Out: the same, after a restart too. Writes go through one `Writer` thread, reads through
`Readers`. Before a read, everything pending is written, so that the reader sees it; the records of threads are kept in
memory as well (`thread_records`). Never: a wait on the event loop
(one indexed row is read there, see `readers`), or opening a file that another gateway has locked.

`append` alone is not durable: for `writer.LINGER_SECONDS` and one transaction a piece is only in memory. `end` is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from gateway.errors import StoreError
from gateway.store.base import AgentRecord, Piece, RunRecord, Status, ThreadRecord
from gateway.store.pieces import join_lines, select_pieces, stored_size
from gateway.store.sqlite import lock, retention, schema, statements
from gateway.store.sqlite.audit import SqliteAudit
from gateway.store.sqlite.deliveries import SqliteDeliveries
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.session_owners import SqliteSessionOwners
from gateway.store.sqlite.thread_records import ThreadRecords, Unknown
from gateway.store.sqlite.transaction import Row
from gateway.store.sqlite.usage import SqliteUsage
from gateway.store.sqlite.worktrees import SqliteWorktrees
from gateway.store.sqlite.writer import Writer

MAX_BACKLOG_BYTES = 32 * 2**20
"""Bytes that may wait to be written before `append` waits too."""

T = TypeVar("T")


@dataclass(slots=True)
class Log:
    """The log of a live run."""

    number: int
    """The run's number in the file; not reused while anything of the run is left."""
    events: int
    size: int
    """Bytes, with the run's input."""


class SqliteStore:
    """The contract is `base.Store`'s. Started, used and closed on one event loop."""

    def __init__(self, path: Path, *, backlog: int = MAX_BACKLOG_BYTES) -> None:
        self.path = path.absolute()
        self._backlog = backlog
        self._open: tuple[Writer, Readers, int] | None = None
        self._logs: dict[str, Log] = {}
        self._thread_records = ThreadRecords()
        self._last_number = 0
        self.deliveries = SqliteDeliveries(self._write, self._query)
        self.audit = SqliteAudit(self._write, self._query)
        self.session_owners = SqliteSessionOwners(self._write, self._query)
        self.worktrees = SqliteWorktrees(self._write, self._query)
        self.usage = SqliteUsage(self._write, self._query)

    def __repr__(self) -> str:
        return f"<SqliteStore {self.path}: {'open' if self._open else 'closed'}, {len(self._logs)} live runs>"

    async def start(self) -> None:
        try:
            connection, lock_descriptor = await run_sync(self._prepare)
        except (OSError, sqlite3.Error) as exc:
            raise StoreError(f"the store {self.path} cannot be opened: {exc}") from exc
        writer = Writer(connection, self.path, self._backlog)
        writer.start()
        self._open = writer, await run_sync(Readers, self.path), lock_descriptor

    async def aclose(self) -> None:
        if self._open is None:
            return
        writer, readers, lock_descriptor = self._open
        self._open = None
        writer.refuse_new()
        with anyio.CancelScope(shield=True):
            try:
                await readers.aclose()  # first: the last connection to close, the writer's, checkpoints the file
                await writer.aclose()
            finally:
                lock.release(lock_descriptor)

    async def begin(self, run: RunRecord) -> None:
        if run.key in self._logs:
            raise StoreError(f"run {run.key} has begun before")
        self._last_number += 1
        log = self._logs[run.key] = Log(self._last_number, 0, len(run.input))
        try:
            await self._writer.do(lambda connection: statements.begin(connection, log.number, run))
        except StoreError:
            self._logs.pop(run.key, None)
            raise

    @property
    def is_full(self) -> bool:
        return self._open is not None and self._open[0].is_full

    async def append(self, key: str, piece: Piece) -> None:
        if not piece.lines:
            return
        payload = join_lines(piece.lines)
        writer = self._writer
        if writer.is_full:
            await writer.wait_for_room()
        log = self._log(key)
        if piece.first != log.events + 1:
            raise StoreError(f"run {key} holds {log.events} events: the next number is not {piece.first}")
        writer.add(Row(log.number, piece.first, len(piece.lines), payload))
        log.events = piece.last
        log.size += stored_size(payload)

    async def end(self, key: str, status: Status, ended: float) -> None:
        log = self._log(key)
        del self._logs[key]
        values = status, ended, log.events, log.size, log.number
        try:
            await self._writer.do(lambda connection: statements.end(connection, values))
        except StoreError:
            self._logs[key] = log  # still live on disk too
            raise

    async def read(self, key: str, after: int, max_bytes: int) -> list[Piece]:
        def query(connection: sqlite3.Connection) -> list[Piece]:
            # Closed at once: an open cursor would prevent a checkpoint.
            with closing(connection.execute(statements.PIECES, (key, after + 1))) as rows:
                return select_pieces(rows, after, max_bytes)

        return await self._query(query)

    async def run(self, run_id: str, principal: str) -> RunRecord | None:
        runs = await self._runs("where r.run_id = ? and r.principal = ? order by r.id desc limit 1", run_id, principal)
        return runs[0] if runs else None

    async def live(self) -> list[RunRecord]:
        return await self._runs("where r.status = 'live' order by r.id")

    async def thread_runs(self, agent: str, thread_id: str, principal: str, limit: int) -> list[RunRecord]:
        where = "where r.agent = ? and r.thread_id = ? and r.principal = ? order by r.id desc limit ?"
        return (await self._runs(where, agent, thread_id, principal, limit))[::-1]

    async def thread(self, agent: str, thread_id: str, principal: str) -> ThreadRecord | None:
        name = agent, thread_id, principal
        records = self._thread_records
        if not isinstance(found := records.find(name), Unknown):
            return found
        changes = records.changes
        writer, readers, _ = self._opened()
        if records.is_being_written(name):
            await writer.flush()
        where = "where agent = ? and thread_id = ? and principal = ?"
        row = await readers.find(statements.THREAD + where, name)
        record = None if row is None else ThreadRecord(*row)
        records.put_read(name, record, changes)
        return record

    async def threads(self, agent: str, principal: str, limit: int) -> list[ThreadRecord]:
        where = "where agent = ? and principal = ? order by updated desc, id desc limit ?"
        return await self._threads(where, agent, principal, limit)

    async def save_thread(self, thread: ThreadRecord) -> None:
        name = thread.agent, thread.thread_id, thread.principal
        # Shielded: the work of a cancelled caller is done all the same, and its end must be known.
        with self._thread_records.write(name, thread), anyio.CancelScope(shield=True):
            await self._writer.do(lambda connection: statements.save_thread(connection, thread))

    async def delete_thread(self, agent: str, thread_id: str, principal: str) -> bool:
        name = agent, thread_id, principal
        with self._thread_records.write(name, None), anyio.CancelScope(shield=True):
            was_found, keys = await self._writer.do(lambda connection: statements.delete_thread(connection, *name))
        for key in keys:
            self._logs.pop(key, None)
        await self._delete_doomed()
        return was_found

    async def agents(self) -> list[AgentRecord]:
        rows = await self._query(lambda connection: connection.execute(statements.AGENTS).fetchall())
        return [AgentRecord(*row) for row in rows]

    async def save_agent(self, agent: AgentRecord, detail: bytes = b"{}") -> None:
        await self._writer.do(lambda connection: statements.save_agent(connection, agent, detail))

    async def delete_agent(self, agent_id: str, by: str, at: float) -> bool:
        return await self._writer.do(lambda connection: statements.delete_agent(connection, agent_id, by, at))

    async def prune(self, older_than: float, max_bytes: int) -> int:
        total = 0
        self._thread_records.clear()
        try:
            while deleted := await self._writer.do(
                lambda connection: retention.drop_old(connection, older_than, max_bytes)
            ):
                total += deleted
            await self._writer.do(lambda connection: retention.drop_idle_threads(connection, older_than))
        finally:
            self._thread_records.clear()
        await self._delete_doomed()
        return total

    async def check(self) -> None:
        await self._writer.do(statements.touch)

    @property
    def _writer(self) -> Writer:
        return self._opened()[0]

    def _opened(self) -> tuple[Writer, Readers, int]:
        if self._open is None:
            raise StoreError(f"the store {self.path} is not open")
        return self._open

    def _log(self, key: str) -> Log:
        try:
            return self._logs[key]
        except KeyError:
            raise StoreError(f"run {key} is not live") from None

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._writer.do(work)

    async def _query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        writer, readers, _ = self._opened()
        await writer.flush()
        return await readers.query(work)

    async def _runs(self, where: str, *values: object) -> list[RunRecord]:
        rows = await self._query(lambda connection: connection.execute(statements.RUN + where, values).fetchall())
        return [RunRecord(*row) for row in rows]

    async def _threads(self, where: str, *values: object) -> list[ThreadRecord]:
        rows = await self._query(lambda connection: connection.execute(statements.THREAD + where, values).fetchall())
        return [ThreadRecord(*row) for row in rows]

    async def _delete_doomed(self) -> None:
        """A slice per transaction: other writes are done between two slices."""
        while await self._writer.do(retention.delete_doomed):
            pass

    def _prepare(self) -> tuple[sqlite3.Connection, int]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as undo:
            lock_descriptor = lock.acquire(self.path)
            undo.callback(lock.release, lock_descriptor)
            connection = schema.prepare(self.path)
            undo.callback(connection.close)
            self._logs = {key: Log(*rest) for key, *rest in connection.execute(statements.LIVE)}
            self._last_number = connection.execute(statements.LAST_NUMBER).fetchone()[0]
            undo.pop_all()
        return connection, lock_descriptor
