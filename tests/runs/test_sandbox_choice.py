"""What `sandbox` means in each situation, and what happens where it is not to be had."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gateway.catalog.sandbox import SandboxMode
from gateway.drivers.sandbox.containers import container_evidence
from gateway.errors import ConfigError, Refused
from gateway.runs.sandbox_choice import SandboxChoice, Situation, decide
from gateway.settings import Settings

PROBLEM = "bubblewrap is not installed"
EVIDENCE = "/.dockerenv"


def kind(
    mode: SandboxMode,
    *,
    is_trusted: bool = True,
    is_unattended: bool = False,
    problem: str | None = None,
    evidence: str | None = None,
) -> str:
    """The kind, with a `!` where the user is warned; or the code of the refusal."""
    try:
        policy = decide(mode, Situation(is_trusted, is_unattended), lambda: problem, lambda: evidence)
    except Refused as exc:
        assert 'sandbox = "none"' in exc.detail, "it says what can be done"
        return exc.code
    assert policy.reason
    return policy.kind + ("!" if policy.warning else "")


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize("is_unattended", [True, False])
def test_what_the_operator_demands_is_done_or_refused(is_trusted: bool, is_unattended: bool) -> None:
    demand = partial(kind, is_trusted=is_trusted, is_unattended=is_unattended)
    assert demand("none") == "none"
    assert demand("bubblewrap") == "bubblewrap"
    assert demand("bubblewrap", problem=PROBLEM, evidence=EVIDENCE) == "SANDBOX_UNAVAILABLE"
    assert demand("container", evidence=EVIDENCE) == "container"
    assert demand("container") == "SANDBOX_UNAVAILABLE"


def test_auto_is_a_sandbox_where_nobody_watches_or_nobody_trusts() -> None:
    assert kind("auto") == "none"
    assert kind("auto", is_trusted=False) == "bubblewrap"
    assert kind("auto", is_unattended=True) == "bubblewrap"
    assert kind("auto", is_trusted=False, is_unattended=True) == "bubblewrap"


def test_auto_without_bubblewrap_warns_where_the_user_is_asked_and_refuses_otherwise() -> None:
    assert kind("auto", problem=PROBLEM) == "none"
    assert kind("auto", is_trusted=False, problem=PROBLEM) == "none!"
    assert kind("auto", is_unattended=True, problem=PROBLEM) == "SANDBOX_UNAVAILABLE"
    assert kind("auto", is_unattended=True, problem=PROBLEM, evidence=EVIDENCE) == "container"


def test_a_host_that_cannot_be_read_is_an_error_of_the_operator() -> None:
    with pytest.raises(ConfigError, match="sandbox_hosts"):
        SandboxChoice(Settings(sandbox_hosts=("https://example.com/",)))


@pytest.mark.parametrize("name", ["run/.containerenv", ".dockerenv"])
def test_a_container_is_known_by_its_marks(name: str, tmp_path: Path) -> None:
    assert container_evidence(tmp_path) is None
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert container_evidence(tmp_path) == f"/{name}"


def test_a_container_is_known_by_its_cgroup(tmp_path: Path) -> None:
    (tmp_path / "proc" / "1").mkdir(parents=True)
    (tmp_path / "proc" / "1" / "cgroup").write_text("0::/docker/0123\n")
    assert container_evidence(tmp_path) == "/proc/1/cgroup"
