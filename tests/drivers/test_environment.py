"""The agent_environment environment."""

from __future__ import annotations

import pytest

from gateway.drivers.environment import agent_environment, merge_json, secret_values
from gateway.jsonio import loads

EVERYTHING = {
    "PATH": "/bin",
    "HOME": "/home/otter",
    "LC_ALL": "C.UTF-8",
    "LC_TIME": "de_DE",
    "XDG_CONFIG_HOME": "/home/otter/.config",
    "HTTPS_PROXY": "http://proxy",
    "https_proxy": "http://proxy",
    "SSL_CERT_FILE": "/etc/ca.pem",
    "OTTER_API_KEY": "key-of-the-otter",
    "OTTER_MODEL": "otter-2",
    "OTTERS": "two",
    "DATABASE_URL": "postgres://secret",
    "AGUI_GATEWAY_TOKEN": "the-gateways-own",
}
BASE = {
    name: EVERYTHING[name]
    for name in ("PATH", "HOME", "LC_ALL", "LC_TIME", "XDG_CONFIG_HOME", "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE")
}


def test_only_the_base_list_passes_unasked() -> None:
    assert agent_environment([], {}, EVERYTHING) == BASE


def test_a_name_passes_when_it_is_inherited() -> None:
    assert agent_environment(["OTTER_API_KEY"], {}, EVERYTHING) == BASE | {"OTTER_API_KEY": "key-of-the-otter"}


def test_a_trailing_star_is_a_prefix() -> None:
    assert agent_environment(["OTTER_*"], {}, EVERYTHING) == BASE | {
        "OTTER_API_KEY": "key-of-the-otter",
        "OTTER_MODEL": "otter-2",
    }


def test_a_name_that_is_not_there_is_left_out() -> None:
    assert agent_environment(["BEAVER_API_KEY"], {}, EVERYTHING) == BASE


def test_what_the_agent_sets_itself_wins() -> None:
    set_here = {"PATH": "/opt/otter", "OTTER_TELEMETRY": "0"}
    assert agent_environment([], set_here, EVERYTHING) == BASE | set_here


@pytest.mark.parametrize("inherit", [["AGUI_GATEWAY_TOKEN"], ["AGUI_*"], ["*"]])
def test_the_gateways_own_settings_never_pass(inherit: list[str]) -> None:
    assert "AGUI_GATEWAY_TOKEN" not in agent_environment(inherit, {"AGUI_GATEWAY_TOKEN": "set"}, EVERYTHING)


def test_names_are_case_sensitive() -> None:
    assert agent_environment([], {}, {"path": "/bin", "Home": "/root"}) == {}


def test_the_arguments_are_not_changed() -> None:
    environ, extra = dict(EVERYTHING), {"PATH": "/opt"}
    agent_environment(["*"], extra, environ)
    assert (environ, extra) == (EVERYTHING, {"PATH": "/opt"})


@pytest.mark.parametrize("name", ["OTTER_API_KEY", "GH_TOKEN", "CLIENT_SECRET", "DB_PASSWORD", "DB_PASSWD", "my_token"])
def test_a_value_is_a_secret_by_its_name(name: str) -> None:
    assert secret_values({name: "s3cr3t-value", "PATH": "/usr/bin:/bin"}) == ["s3cr3t-value"]


def test_a_short_value_is_no_secret() -> None:
    assert secret_values({"TOKEN_LIMIT": "4096", "KEY": ""}) == []


def test_the_longest_secret_comes_first() -> None:
    assert secret_values({"A_KEY": "secret", "B_KEY": "secret-and-more", "C_KEY": "secret"}) == [
        "secret-and-more",
        "secret",
    ]


def test_json_in_a_variable_is_merged_with_what_the_operator_set() -> None:
    current = '{"model":"m","skills":{"paths":["/own"]}}'
    merged = merge_json(current, '{"skills": {"paths": ["/run"]}}')
    assert loads(merged) == {"model": "m", "skills": {"paths": ["/own", "/run"]}}
    for broken in (None, "", "no json", "[]"):
        assert merge_json(broken, '{"a":1}') == '{"a":1}'
