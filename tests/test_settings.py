"""Where settings come from, who wins, and what is said when one is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.errors import ConfigError
from gateway.settings import ENV_PREFIX, Settings, data_dir, load

TIMES = [name for name, field in Settings.model_fields.items() if field.annotation is float]


@pytest.fixture(autouse=True)
def remote_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No `gateway.toml` of anybody is near."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(flags: dict[str, Any], environ: dict[str, str], file: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(flags, environ, file)
    return caught.value.detail


def written(text: str, name: str = "gateway.toml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


# -- who wins


def test_without_anything_the_defaults_hold() -> None:
    assert load({}, {}) == Settings()


def test_a_flag_beats_the_environment_which_beats_the_file() -> None:
    written('port = 1111\nhost = "127.0.0.2"\nmax_runs = 7\n')
    environ = {"AGUI_GATEWAY_PORT": "2222", "AGUI_GATEWAY_MAX_RUNS": "8"}
    found = load({"port": 3333}, environ)
    assert (found.port, found.max_runs, found.host) == (3333, 8, "127.0.0.2")


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_can_be_set_in_every_way(name: str) -> None:
    value = example(name)
    written(f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}\n")
    from_file = load({}, {})
    Path("gateway.toml").unlink()
    text = value if not isinstance(value, list) else value[0]
    from_environment = load({}, {ENV_PREFIX + name.upper(): str(text)})
    from_flag = load({name: value}, {})
    assert from_flag == from_environment != Settings()
    # A path in a file is meant from where the file stands, so it is another one.
    assert from_file == from_flag or name in ("agents", "workspace", "token_file")
    assert from_file != Settings()


def example(name: str) -> Any:
    match getattr(Settings(), name):
        case tuple():
            return ["http://localhost:1" if name == "allow_origin" else "other"]
        case bool() as flag:
            return not flag
        case str() | None:
            return "other"
        case number:
            return number + 1


def test_a_file_that_is_named_is_read_instead_of_the_one_that_lies_there() -> None:
    written("port = 1111")
    other = written("port = 2222", "elsewhere/other.toml")
    assert load({}, {}, other).port == 2222


def test_an_empty_variable_states_nothing() -> None:
    assert load({}, {"AGUI_GATEWAY_PORT": ""}) == Settings()


def test_a_variable_of_another_program_states_nothing() -> None:
    assert load({}, {"PORT": "1", "AGUI_PORT": "2", "agui_gateway_port": "3"}) == Settings()


# -- lists and paths


def test_a_list_in_the_environment_is_split_as_such_lists_are() -> None:
    environ = {
        "AGUI_GATEWAY_AGENTS": "one:two",
        "AGUI_GATEWAY_ALLOW_ORIGIN": "http://localhost:1, https://a.example",
        "AGUI_GATEWAY_ALLOW_HOST": "a.example,,b.example",
    }
    found = load({}, environ)
    assert found.agents == (Path("one"), Path("two"))
    assert found.allow_origin == ("http://localhost:1", "https://a.example")
    assert found.allow_host == ("a.example", "b.example")


def test_a_path_in_a_file_is_meant_from_where_the_file_stands(remote_proxy: Path) -> None:
    text = 'agents = ["mine", "/abs/olute"]\nworkspace = ["code"]\ntoken_file = "tokens.txt"\n'
    found = load({}, {}, written(text, "etc/gateway.toml"))
    assert found.agents == (remote_proxy / "etc" / "mine", Path("/abs/olute"))
    assert found.workspace == (remote_proxy / "etc" / "code",)
    assert found.token_file == remote_proxy / "etc" / "tokens.txt"


def test_the_store_is_in_the_users_data_directory(monkeypatch: pytest.MonkeyPatch, remote_proxy: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(remote_proxy))
    assert data_dir() == remote_proxy / "agui-gateway"
    assert load({}, {}).store == f"sqlite://{remote_proxy}/agui-gateway/gateway.db"


@pytest.mark.parametrize("unset", [None, ""])
def test_which_is_where_convention_has_it(
    monkeypatch: pytest.MonkeyPatch, remote_proxy: Path, unset: str | None
) -> None:
    monkeypatch.setenv("HOME", str(remote_proxy))
    if unset is None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_DATA_HOME", unset)
    assert data_dir() == remote_proxy / ".local" / "share" / "agui-gateway"


def test_origins_are_compared_in_lower_case() -> None:
    assert load({"allow_origin": ["http://LocalHost:5173"]}, {}).allow_origin == ("http://localhost:5173",)


# -- what is said when one is wrong


def test_a_wrong_flag_is_named() -> None:
    assert refusal({"port": 70000}, {}).startswith("--port: ")
    assert refusal({"allow_origin": ["*"]}, {}).startswith("--allow-origin: '*' is not an origin")


def test_a_wrong_variable_is_named() -> None:
    assert refusal({}, {"AGUI_GATEWAY_BODY_TIMEOUT": "soon"}).startswith("AGUI_GATEWAY_BODY_TIMEOUT: ")


def test_a_wrong_key_of_a_file_is_named_with_the_file() -> None:
    assert refusal({}, {}, written('port = "high"', "my.toml")).startswith("my.toml: port: ")


def test_the_one_who_won_is_blamed() -> None:
    written("port = 99999")
    assert refusal({}, {"AGUI_GATEWAY_PORT": "x"}).startswith("AGUI_GATEWAY_PORT: ")
    assert load({"port": 1}, {"AGUI_GATEWAY_PORT": "x"}).port == 1


@pytest.mark.parametrize("way", ["environment", "file"])
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(way: str) -> None:
    if way == "environment":
        said, name = refusal({}, {"AGUI_GATEWAY_PROT": "1"}), "AGUI_GATEWAY_PROT"
    else:
        said, name = refusal({}, {}, written("prot = 1", "my.toml")), "my.toml: prot"
    assert said.startswith(f"{name}: there is no such setting.")
    assert all(setting in said for setting in Settings.model_fields)


def test_a_file_that_is_not_there_is_named() -> None:
    assert "nowhere.toml: cannot be read" in refusal({}, {}, Path("nowhere.toml"))


def test_a_folder_in_place_of_a_file_is_named(remote_proxy: Path) -> None:
    assert str(remote_proxy) in refusal({}, {}, remote_proxy)


def test_a_file_that_is_not_toml_is_named_with_the_line() -> None:
    said = refusal({}, {}, written("port = 1\nhost = \n", "my.toml"))
    assert "my.toml: not TOML" in said and "line 2" in said


def test_a_file_that_is_no_text_is_named() -> None:
    Path("my.toml").write_bytes(b"\xff\xfe")
    assert "my.toml: not TOML" in refusal({}, {}, Path("my.toml"))


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("name", TIMES)
def test_a_time_has_an_end(name: str, value: str) -> None:
    assert refusal({}, {ENV_PREFIX + name.upper(): value}).startswith(ENV_PREFIX + name.upper())


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "localhost:5173", "http://", "http://localhost:5173/", "http://a/b", "ftp://a", "ws://a", ""],
)
def test_what_is_not_an_origin_is_not_taken_for_one(origin: str) -> None:
    assert "is not an origin" in refusal({"allow_origin": [origin]}, {})


# -- the object


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
