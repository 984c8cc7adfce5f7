"""The bench runs and tells everything it promises. How fast anything is, is not asserted anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.drivers.sandbox.bubblewrap import unusable_reason
from tests.bench import acp, cli, console, federation, stream
from tests.bench.figures import Target
from tests.bench.reader import count_binary

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120
SIZE = 2_000


def bench(*options: str, **env: str) -> str:
    command = [sys.executable, "-m", "tests.bench", "--quick", "--size", str(SIZE), *options]
    environ = {**os.environ, "NO_COLOR": "1", **env}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""  # no progress where nobody watches
    return done.stdout.decode()


def test_an_agents_process_is_measured_and_so_is_a_chunks_way() -> None:
    printed = bench("--only", "acp", "--only", "latency")
    for name in (acp.ACP, acp.ACP_MERGED, acp.SDK, "bare pipe relay", "a chunk's way against a bare relay's"):
        assert name in printed


def test_so_is_a_command_line_agents_process() -> None:
    printed = bench("--only", "cli")
    for name in (cli.CLI, cli.CLI_MERGED, "command line against one a write"):
        assert name in printed


def test_so_is_the_start_of_a_process_in_the_sandbox() -> None:
    printed = bench("--only", "sandbox")
    assert "with the sandbox" in printed


@pytest.mark.skipif(unusable_reason() is not None, reason=f"needs bubblewrap: {unusable_reason()}")
def test_so_are_agents_whose_processes_run_in_the_sandbox() -> None:
    printed = bench("--only", "acp", "--only", "cli", "--only", "latency", AGUI_TEST_SANDBOX="bubblewrap")
    for name in (acp.ACP, cli.CLI, "gateway, ACP", "sandbox = 'bubblewrap'"):
        assert name in printed


def test_so_is_a_gateway_over_a_gateway() -> None:
    printed = bench("--only", "federation")
    for name in (federation.ONE, federation.TWO, federation.TWO_BINARY, "two gateways against one, SSE"):
        assert name in printed


def test_the_feed_is_measured_and_so_is_a_snapshot_in_a_crowd() -> None:
    printed = bench("--only", "feed", "--only", "crowd")
    for name in ("1 watcher", "200 watchers, nothing changes", "of a thread, in the crowd", "in processor time"):
        assert name in printed


def test_so_is_the_console() -> None:
    printed = bench("--only", "console")
    for name in (console.STREAM, console.MARKDOWN, console.ARRIVING, console.SCROLL):
        assert name in printed


def test_every_row_of_the_stream_is_measured_and_printed(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    printed = bench("--only", "stream", "--json", str(file))
    [report] = json.loads(file.read_bytes())
    names = [figure["name"] for figure in report["figures"]]
    assert names == [
        *(stream.SSE, stream.SSE_MERGED, stream.BINARY, stream.BINARY_MERGED),
        *(stream.CHUNKS, stream.WRITES, stream.OFFICIAL),
    ]
    assert all(name in printed for name in names)
    assert all(figure["median"] > 0 for figure in report["figures"])
    assert all(target["claim"] in printed for target in report["targets"])


def test_a_target_is_held_on_its_bound() -> None:
    assert Target("faster", 1.5, "≥", 1.5).held
    assert not Target("faster", 1.49, "≥", 1.5).held
    assert Target("smaller", 0.5, "≤", 0.5).held
    assert not Target("smaller", 0.51, "≤", 0.5).held


def test_protobuf_frames_are_counted_across_chunks() -> None:
    body = b"\0\0\0\x03abc" + b"\0\0\0\0" + b"\0\0\0\x02\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (body[:5], body[5:], b""))
    assert count_binary(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks) == 3
