"""The whole time of a run has a limit: AG-UI's `execution.maxExecutionTime`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import anyio
import pytest

from gateway.identity import Caller
from gateway.turn import Turn
from tests.behaviour.delivery.in_process import ME, scene
from tests.runs.harness import interrupts_of, played, resolved, staged
from tests.support.gateway import Gateway, text_of, types_of

LIMIT = 0.5
MESSAGE = "the run did not end within 0.5 seconds (run_timeout)"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    more = {"hangs": "run_timeout = 0.2"}
    home = tmp_path_factory.mktemp("limited")
    with staged(home, "faults", more=more, run_timeout=LIMIT, cancel_grace=0.2) as running:
        yield running


def test_a_run_that_takes_too_long_is_stopped_in_order(limited: Gateway) -> None:
    events = played(limited, "talks-for-long")
    assert events[-1] == {"type": "RUN_ERROR", "code": "RUN_TIMEOUT", "message": MESSAGE}
    assert types_of(events)[-2] == "TEXT_MESSAGE_END"
    assert text_of(events).startswith("and on ")


def test_an_agent_that_cannot_be_stopped_is_let_go_when_the_time_is_over(limited: Gateway) -> None:
    assert played(limited, "swallows-and-talks")[-1]["code"] == "RUN_TIMEOUT"


def test_an_agent_s_file_may_set_its_own_limit(limited: Gateway) -> None:
    assert "within 0.2 seconds" in played(limited, "hangs")[-1]["message"]
    explained = limited.client.get("/agents/hangs/capabilities", params={"explain": 1}).json()["explain"]
    limit = explained["execution.maxExecutionTime"]
    assert (limit["value"], limit["source"], limit["key"]) == (200, "hangs.toml", "run_timeout")


def test_the_snapshot_has_the_limit_in_milliseconds_with_the_setting_that_it_comes_from(limited: Gateway) -> None:
    """AG-UI execution.maxExecutionTime."""
    found = limited.client.get("/agents/talks-for-long/capabilities", params={"explain": 1}).json()
    assert found["capabilities"]["execution"]["maxExecutionTime"] == 500
    limit = found["explain"]["execution.maxExecutionTime"]
    assert (limit["layer"], limit["source"], limit["key"]) == ("gateway", "the gateway's settings", "run_timeout")


def test_the_time_that_an_interrupt_waits_does_not_count(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("waits")
    with staged(home, "interrupts", run_timeout=LIMIT) as gateway:
        asked = played(gateway, "asks", threadId="waiting")
        [interrupt] = interrupts_of(asked)
        # Another run takes the whole limit meanwhile.
        assert played(gateway, "never-answers")[-1]["code"] == "RUN_TIMEOUT"
        answered = played(gateway, "asks", threadId="waiting", resume=[resolved(interrupt, True)])
        assert answered[-1]["type"] == "RUN_FINISHED"
        assert text_of(answered) == "a=resolved:True"


@pytest.mark.anyio
async def test_a_run_that_is_over_is_not_kept_until_its_time_is_over() -> None:
    async with scene() as on:
        on.driver.by_itself = True
        run = await on.gateway.checked_runs.start(on.gateway.agents["played"], Turn("t", "run-1"), Caller(ME))
        await run.over.wait()
        alive = weakref.ref(run)
        del run
        with anyio.fail_after(10):
            while alive() is not None:  # its task may have a step to go
                await anyio.lowlevel.checkpoint()
                gc.collect()
