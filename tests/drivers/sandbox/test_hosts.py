"""Which hosts a rule permits."""

from __future__ import annotations

import pytest

from gateway.drivers.sandbox.hosts import HostRule, find_rule, parse_rule, rules_of_environment, rules_of_servers


@pytest.mark.parametrize(
    ("pattern", "host", "port", "is_permitted"),
    [
        ("api.example.com", "api.example.com", 443, True),
        ("api.example.com", "API.EXAMPLE.COM.", 443, True),
        ("api.example.com", "api.example.com", 80, True),
        ("api.example.com", "api.example.com", 22, False),
        ("api.example.com", "api.example.com.evil.example", 443, False),
        ("api.example.com", "xapi.example.com", 443, False),
        ("*.example.com", "a.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("example.com:8443", "example.com", 8443, True),
        ("example.com:8443", "example.com", 443, False),
        ("127.0.0.1:8080", "localhost", 8080, True),
        ("[::1]:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8081, False),
        ("[2001:db8::1]", "2001:db8::1", 443, True),
    ],
)
def test_a_rule_permits_only_its_host_and_port(pattern: str, host: str, port: int, is_permitted: bool) -> None:
    assert parse_rule(pattern).matches(host, port) is is_permitted


@pytest.mark.parametrize(
    "text", ["https://example.com", "example.com/x", "", "*", "*.", "a b", "example.com:", "*:443"]
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        parse_rule(text)


def test_a_base_url_of_the_environment_is_the_operators_choice() -> None:
    env = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/v1",
        "OPENAI_BASE_URL": "https://llm.example",
        "X_API_BASE": "?",
    }
    assert rules_of_environment(env) == [
        HostRule("127.0.0.1", 4000, allows_private=True),
        HostRule("llm.example", 443, allows_private=True),
    ]


@pytest.mark.parametrize("allows_private", [False, True])
def test_the_mcp_servers_of_a_run_can_be_reached_at_their_hosts_and_ports_alone(allows_private: bool) -> None:
    servers: list[dict[str, object]] = [
        {"name": "started", "command": "server"},
        {"name": "web", "type": "http", "url": "https://MCP.example/one"},
        {"name": "near", "type": "sse", "url": "http://127.0.0.1:8090/sse"},
        {"name": "socket", "type": "ws", "url": "wss://ws.example"},
        {"name": "odd", "url": "http://[::1"},
        {"name": "odder", "url": 7},
    ]
    assert rules_of_servers(servers, allows_private=allows_private) == (
        HostRule("mcp.example", 443, allows_private),
        HostRule("127.0.0.1", 8090, allows_private),
        HostRule("ws.example", 443, allows_private),
    )


def test_a_rule_of_the_operator_is_preferred() -> None:
    rules = [parse_rule("*.example.com"), parse_rule("a.example.com", allows_private=True)]
    assert find_rule(rules, "a.example.com", 443) == rules[1]
    assert find_rule(rules, "b.example.com", 443) == rules[0]
    assert find_rule(rules, "c.example", 443) is None
