"""`open_store`: from a URL to a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.store import STORES, MemoryStore, SqliteStore, open_store


@pytest.mark.parametrize("url", ["memory:", "memory://"])
def test_memory_is_a_store_in_memory(url: str) -> None:
    assert isinstance(open_store(url), MemoryStore)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:////var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:/var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:store.db", "/here/store.db"),
        ("sqlite:data/store.db", "/here/data/store.db"),
        ("sqlite:~/store.db", "/home/ann/store.db"),
        ("sqlite:///~/store.db", "/home/ann/store.db"),
        ("sqlite:///a%20b?c#d:e.db", "/a%20b?c#d:e.db"),
    ],
)
def test_a_sqlite_url_names_one_file(url: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    store = open_store(url)
    assert isinstance(store, SqliteStore)
    assert store.path == Path(path)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "it has no scheme"),
        ("store.db", "it has no scheme"),
        ("postgres://host/db", "'postgres' is not a kind of store"),
        ("memory:name", "a store in memory has no path"),
        ("sqlite:", "it names no file"),
        ("sqlite:///", "it names no file"),
        ("sqlite:///folder/", "it names no file"),
        ("sqlite::memory:", "a store in memory is `memory:`"),
        ("sqlite://store.db", "a file needs three slashes, or none"),
        ("sqlite:~no-such-user/store.db", "Could not determine home directory"),
    ],
)
def test_any_other_url_is_refused_with_the_reason_and_the_valid_forms(url: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(url)
    assert reason in caught.value.detail
    assert caught.value.detail.startswith(f"--store {url}: ")
    assert caught.value.detail.endswith("; use sqlite:///PATH for a file, or memory: to keep nothing")


@pytest.mark.parametrize("scheme", STORES)
def test_every_store_of_the_registry_has_an_example_and_its_usage(scheme: str, tmp_path: Path) -> None:
    backend = STORES[scheme]
    assert backend.usage.startswith(f"{scheme}:")
    assert open_store(backend.example.format(directory=tmp_path)) is not None
