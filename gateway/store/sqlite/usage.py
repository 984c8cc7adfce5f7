"""What principals have used, in the SQLite file. `SqliteStore` passes in how to write and to read."""

from __future__ import annotations

from gateway.store.sqlite.deliveries import Executor
from gateway.store.usage import MAX_AMOUNT, DayUsage

ADD = f"""insert into usage (principal, day, tokens, nano_usd) values (?, ?, ?, ?)
    on conflict (principal, day) do update set
    tokens = min(tokens + excluded.tokens, {MAX_AMOUNT}), nano_usd = min(nano_usd + excluded.nano_usd, {MAX_AMOUNT})"""
READ = "select tokens, nano_usd from usage where principal = ? and day = ?"


class SqliteUsage:
    """The contract is `usage.UsageRecords`'."""

    def __init__(self, write: Executor, query: Executor) -> None:
        self._write = write
        self._query = query

    async def add(self, principal: str, day: str, tokens: int, nano_usd: int) -> None:
        values = principal, day, min(tokens, MAX_AMOUNT), min(nano_usd, MAX_AMOUNT)
        await self._write(lambda connection: connection.execute(ADD, values))

    async def read(self, principal: str, day: str) -> DayUsage:
        row = await self._query(lambda connection: connection.execute(READ, (principal, day)).fetchone())
        return DayUsage() if row is None else DayUsage(*row)

    async def prune(self, before: str) -> None:
        await self._write(lambda connection: connection.execute("delete from usage where day < ?", (before,)))
