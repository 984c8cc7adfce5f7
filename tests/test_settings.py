"""Where settings come from, which one wins, and how a mistake is reported."""

from __future__ import annotations

from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import ValidationError

from gateway.configuration import RENAMED, load
from gateway.errors import ConfigError
from gateway.settings import ENV_PREFIX, Settings, data_dir

TIMES = [name for name, field in Settings.model_fields.items() if field.annotation is float]


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory: there is no `gateway.toml`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def refusal(flags: dict[str, Any], environ: dict[str, str], file: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(flags, environ, file)
    return caught.value.detail


def write_file(text: str, name: str = "gateway.toml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


# -- precedence


def test_without_anything_the_defaults_hold() -> None:
    assert load({}, {}) == Settings()


def test_a_flag_beats_the_environment_which_beats_the_file() -> None:
    file = write_file('port = 1111\nhost = "127.0.0.2"\nmax_runs = 7\n')
    environ = {"AGUI_GATEWAY_PORT": "2222", "AGUI_GATEWAY_MAX_RUNS": "8"}
    settings = load({"port": 3333}, environ, file)
    assert (settings.port, settings.max_runs, settings.host) == (3333, 8, "127.0.0.2")


@pytest.mark.parametrize("name", sorted(set(Settings.model_fields) - {"config", "oidc_scopes"}))
def test_every_setting_can_be_set_in_every_way(name: str) -> None:
    value = example(name)
    file = write_file(f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}\n")
    from_file = load({}, {}, file).model_copy(update={"config": None})
    text = value if not isinstance(value, list) else value[0]
    from_environment = load({}, {ENV_PREFIX + name.upper(): str(text)})
    from_flag = load({name: value}, {})
    assert from_flag == from_environment != Settings()
    # A path in a file is relative to the file, so it differs.
    assert from_file == from_flag or is_path(name)
    assert from_file != Settings()


EXAMPLES: dict[str, Any] = {
    "allow_origin": ["http://localhost:1"],
    "oidc_issuer": "https://login.example",
    "oidc_jwks_url": "https://login.example/keys",
    "proxy": ["127.0.0.1"],
    "proxy_user_scopes": ["read"],
}
"""Of settings that do not take any text."""


def example(name: str) -> Any:
    """Another value than the default, of the setting's type."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    types = types_of(name)
    default = getattr(Settings(), name)
    if choices := [value for kind in types for value in get_args(kind) if get_origin(kind) is Literal]:
        return next(value for value in choices if value != default)
    if any(get_origin(kind) is tuple for kind in types):
        return ["other"]
    if bool in types:
        return not default
    return "other" if str in types or Path in types else (default or 1) + 1


def types_of(name: str) -> tuple[Any, ...]:
    annotation = Settings.model_fields[name].annotation
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def is_path(name: str) -> bool:
    return any(kind is Path or Path in get_args(kind) for kind in types_of(name))


def test_a_table_is_json_in_the_environment() -> None:
    file = write_file('[oidc_scopes]\nstaff = ["read", "approve"]\n')
    environ = {"AGUI_GATEWAY_OIDC_SCOPES": '{"staff": ["read", "approve"]}'}
    assert load({}, {}, file).oidc_scopes == {"staff": ("read", "approve")} == load({}, environ).oidc_scopes
    assert "AGUI_GATEWAY_OIDC_SCOPES: must be a JSON object" in refusal({}, {"AGUI_GATEWAY_OIDC_SCOPES": "staff"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("proxy", ["proxy.example"]),
        ("proxy", ["0.0.0.0/0"]),
        ("proxy", ["10.0.0.1/24"]),
        ("oidc_issuer", "http://login.example"),
        ("oidc_scopes", {"*": ["everything"]}),
        ("proxy_user_scopes", ["root"]),
        ("local_auth", "no"),
    ],
)
def test_what_would_let_strangers_in_is_refused(name: str, value: Any) -> None:
    assert refusal({name: value}, {}).startswith(f"--{name.replace('_', '-')}: ")


def test_a_file_in_the_current_directory_is_not_read() -> None:
    write_file("port = 1111")
    assert load({}, {}) == Settings()


def test_the_file_in_the_users_configuration_directory_is_read(working_directory: Path) -> None:
    file = write_file("port = 1111", ".config/agui-gateway/gateway.toml")
    settings = load({}, {})
    assert (settings.port, settings.config) == (1111, working_directory / file)
    write_file("port = 2222", "etc/agui-gateway/gateway.toml")
    assert load({}, {"XDG_CONFIG_HOME": str(working_directory / "etc")}).port == 2222


@pytest.mark.parametrize("relative", [".", "etc"])
def test_a_relative_configuration_directory_counts_as_none(relative: str) -> None:
    write_file("port = 1111", f"{relative}/agui-gateway/gateway.toml")
    assert load({}, {"XDG_CONFIG_HOME": relative}) == Settings()


def test_a_flag_names_a_file_before_the_environment_before_the_users_own() -> None:
    write_file("port = 1111", ".config/agui-gateway/gateway.toml")
    by_variable, by_flag = write_file("port = 2222", "variable.toml"), write_file("port = 3333", "flag.toml")
    environ = {"AGUI_GATEWAY_CONFIG": str(by_variable)}
    assert load({}, environ).port == 2222
    assert (load({}, environ, by_flag).port, load({}, environ, by_flag).config) == (3333, by_flag)


def test_a_file_that_is_named_and_missing_is_reported() -> None:
    assert "nowhere.toml: cannot be read" in refusal({}, {"AGUI_GATEWAY_CONFIG": "nowhere.toml"})


def test_a_file_cannot_name_another() -> None:
    assert "cannot name another" in refusal({}, {}, write_file('config = "other.toml"'))


def test_an_empty_variable_states_nothing() -> None:
    assert load({}, {"AGUI_GATEWAY_PORT": ""}) == Settings()


def test_a_variable_of_another_program_states_nothing() -> None:
    assert load({}, {"PORT": "1", "AGUI_PORT": "2", "agui_gateway_port": "3"}) == Settings()


# -- lists and paths


def test_a_list_in_the_environment_is_split_by_its_separator() -> None:
    environ = {
        "AGUI_GATEWAY_AGENTS": "one:two",
        "AGUI_GATEWAY_ALLOW_ORIGIN": "http://localhost:1, https://a.example",
        "AGUI_GATEWAY_ALLOW_HOST": "a.example,,b.example",
    }
    settings = load({}, environ)
    assert settings.agents == (Path("one"), Path("two"))
    assert settings.allow_origin == ("http://localhost:1", "https://a.example")
    assert settings.allow_host == ("a.example", "b.example")


def test_a_path_in_a_file_is_relative_to_the_file(working_directory: Path) -> None:
    text = 'agents = ["mine", "/abs/olute"]\nworkspace = ["code"]\ntoken_file = "tokens.txt"\n'
    settings = load({}, {}, write_file(text, "etc/gateway.toml"))
    assert settings.agents == (working_directory / "etc" / "mine", Path("/abs/olute"))
    assert settings.workspace == (working_directory / "etc" / "code",)
    assert settings.token_file == working_directory / "etc" / "tokens.txt"


def test_the_store_is_in_the_users_data_directory(monkeypatch: pytest.MonkeyPatch, working_directory: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(working_directory))
    assert data_dir() == working_directory / "agui-gateway"
    assert load({}, {}).store == f"sqlite://{working_directory}/agui-gateway/gateway.db"


@pytest.mark.parametrize("unset", [None, ""])
def test_the_data_directory_follows_the_xdg_convention(
    monkeypatch: pytest.MonkeyPatch, working_directory: Path, unset: str | None
) -> None:
    monkeypatch.setenv("HOME", str(working_directory))
    if unset is None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_DATA_HOME", unset)
    assert data_dir() == working_directory / ".local" / "share" / "agui-gateway"


def test_origins_are_compared_in_lower_case() -> None:
    assert load({"allow_origin": ["http://LocalHost:5173"]}, {}).allow_origin == ("http://localhost:5173",)


# -- mistakes


def test_a_wrong_flag_is_named() -> None:
    assert refusal({"port": 70000}, {}).startswith("--port: ")
    assert refusal({"allow_origin": ["*"]}, {}).startswith("--allow-origin: '*' is not an origin")


def test_a_wrong_variable_is_named() -> None:
    assert refusal({}, {"AGUI_GATEWAY_BODY_TIMEOUT": "soon"}).startswith("AGUI_GATEWAY_BODY_TIMEOUT: ")


def test_a_wrong_key_of_a_file_is_named_with_the_file() -> None:
    assert refusal({}, {}, write_file('port = "high"', "my.toml")).startswith("my.toml: port: ")


def test_the_source_that_won_is_named() -> None:
    write_file("port = 99999")
    assert refusal({}, {"AGUI_GATEWAY_PORT": "x"}).startswith("AGUI_GATEWAY_PORT: ")
    assert load({"port": 1}, {"AGUI_GATEWAY_PORT": "x"}).port == 1


@pytest.mark.parametrize("origin", ["environment", "file"])
def test_an_unknown_setting_is_refused_with_the_known_ones(origin: str) -> None:
    if origin == "environment":
        message, name = refusal({}, {"AGUI_GATEWAY_PROT": "1"}), "AGUI_GATEWAY_PROT"
    else:
        message, name = refusal({}, {}, write_file("prot = 1", "my.toml")), "my.toml: prot"
    assert message.startswith(f"{name}: there is no such setting.")
    assert all(setting in message for setting in Settings.model_fields)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_setting_is_refused_with_its_new_name(old: str, new: str) -> None:
    assert old not in Settings.model_fields
    assert new in Settings.model_fields
    assert refusal({}, {}, write_file(f"{old} = 1", "my.toml")) == f"my.toml: {old}: `{old}` is called `{new}` now"
    variable = ENV_PREFIX + old.upper()
    message = f"{variable}: `{variable}` is called `{ENV_PREFIX}{new.upper()}` now"
    assert refusal({}, {variable: "1"}) == message


def test_a_file_that_is_not_there_is_named() -> None:
    assert "nowhere.toml: cannot be read" in refusal({}, {}, Path("nowhere.toml"))


def test_a_folder_in_place_of_a_file_is_named(working_directory: Path) -> None:
    assert str(working_directory) in refusal({}, {}, working_directory)


def test_a_file_that_is_not_toml_is_named_with_the_line() -> None:
    message = refusal({}, {}, write_file("port = 1\nhost = \n", "my.toml"))
    assert "my.toml: not TOML" in message and "line 2" in message


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


def test_every_setting_is_documented() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
