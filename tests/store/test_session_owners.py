"""Whose session is whose: the contract of every store."""

from __future__ import annotations

import pytest

from gateway.store import Store
from tests.store.make import a_thread

pytestmark = pytest.mark.anyio


async def test_a_session_belongs_to_the_principal_of_the_first_thread_that_has_it(store: Store) -> None:
    await store.save_thread(a_thread("t1", session="s1"))
    await store.save_thread(a_thread("t2", session="s1", principal="bob"))
    await store.save_thread(a_thread("t3", session=None, principal="bob"))
    await store.save_thread(a_thread("t4", session="s2", principal="bob"))
    assert await store.session_owners.owners("otter", ["s1", "s2", "s3"]) == {"s1": "ann", "s2": "bob"}


async def test_another_agent_may_have_a_session_with_the_same_id(store: Store) -> None:
    await store.save_thread(a_thread("t1", session="s1"))
    await store.save_thread(a_thread("t1", session="s1", agent="beaver", principal="bob"))
    assert await store.session_owners.owners("otter", ["s1"]) == {"s1": "ann"}
    assert await store.session_owners.owners("beaver", ["s1"]) == {"s1": "bob"}


async def test_a_session_that_its_thread_had_before_still_has_its_owner(store: Store) -> None:
    await store.save_thread(a_thread("t1", session="s1"))
    await store.save_thread(a_thread("t1", session="s2"))
    await store.delete_thread("otter", "t1", "ann")
    assert await store.session_owners.owners("otter", ["s1", "s2"]) == {"s1": "ann", "s2": "ann"}


async def test_owners_are_forgotten_when_no_thread_has_the_session_any_more(store: Store) -> None:
    await store.save_thread(a_thread("old", session="s1", updated=10.0))
    await store.save_thread(a_thread("gone", session="s2", updated=10.0))
    await store.save_thread(a_thread("new", session="s3", updated=50.0))
    await store.delete_thread("otter", "gone", "ann")
    await store.delete_thread("otter", "new", "ann")
    assert await store.session_owners.prune(20.0) == 1
    assert await store.session_owners.owners("otter", ["s1", "s2", "s3"]) == {"s1": "ann", "s3": "ann"}


async def test_many_sessions_are_looked_up_at_once(store: Store) -> None:
    names = [f"s{number}" for number in range(1200)]
    await store.save_thread(a_thread("t1", session="s1100"))
    assert await store.session_owners.owners("otter", names) == {"s1100": "ann"}
    assert await store.session_owners.owners("otter", []) == {}
