"""Targets: bodies of remote runs, made from the goldens, as SSE and as protobuf; and the framing of byte streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import orjson

from gateway.agui.outbound import Outbound
from gateway.drivers.remote.decoder import Decoder, ProtobufDecoder, SseDecoder
from gateway.encode.protobuf.encoder import encode_frame as protobuf_frame
from gateway.errors import AgentFault
from gateway.events import Event, TurnFailed, Wire
from gateway.wire.content_length import Frames, frame
from gateway.wire.lines import Lines
from gateway.wire.sse import Events
from tests.agui.replay import accepted
from tests.fuzz.mutations import cut_bytes, mutate_chunks
from tests.fuzz.target import Sample, Target, check_writable
from tests.replay import GOLDENS

LIMIT_BYTES = 1_000_000


def remote_targets() -> list[Target]:
    runs = _golden_runs()
    events = [Sample(name, tuple(map(orjson.dumps, run))) for name, run in runs]
    frames = [Sample(name, tuple(map(protobuf_frame, run))) for name, run in runs]
    return [
        Target("remote/sse", events, _check_sse),
        Target("remote/sse-bytes", [_as_sse(sample) for sample in events], _check_sse_bytes, mutate_chunks, False),
        Target("remote/protobuf", frames, _check_protobuf, mutate_chunks, False),
        Target("framing/sse", [_as_sse(sample) for sample in events], _check_sse_frames, mutate_chunks, False),
        Target("framing/lines", events, _check_lines, mutate_chunks, False),
        Target("framing/content-length", events, _check_frames, mutate_chunks, False),
    ]


def _golden_runs() -> list[tuple[str, list[Wire]]]:
    """The runs of the goldens of all dialects."""
    return [
        (f"{path.stem}/{number}", run)
        for path in sorted(GOLDENS.glob("*.json"))
        for number, run in enumerate(json.loads(path.read_bytes()))
    ]


def _as_sse(sample: Sample) -> Sample:
    return Sample(sample.name, tuple(b"data: %b\n\n" % line for line in sample.lines))


def _check_sse(sample: Sample, lines: list[bytes], rng: Random) -> None:
    _check_decoder(SseDecoder(), b"".join(b"data: %b\n\n" % line for line in lines), rng)


def _check_sse_bytes(sample: Sample, lines: list[bytes], rng: Random) -> None:
    _check_decoder(SseDecoder(), b"".join(lines), rng)


def _check_protobuf(sample: Sample, lines: list[bytes], rng: Random) -> None:
    _check_decoder(ProtobufDecoder(), b"".join(lines), rng)


def _check_decoder(decoder: Decoder, body: bytes, rng: Random) -> None:
    """What cannot be read is an `AgentFault`. What came before it is a run that the official client accepts."""
    out = Outbound("t", "r", "x")
    stream = out.started()
    fault: AgentFault | None = None
    try:
        for piece in cut_bytes(rng, body):
            events: list[Event] = decoder.feed(piece)
            stream += out.feed(events)
            if decoder.fault is not None:
                raise decoder.fault
            if out.ended is not None:
                break
        else:
            decoder.eof()
    except AgentFault as exc:
        fault = exc
    last = out.ended
    if isinstance(last, TurnFailed):
        stream += out.failed(last.message, last.code)
    elif fault is not None:
        stream += out.failed(fault.detail, fault.code)
    else:
        stream += out.finished()
    check_writable(accepted(stream))


def _check_sse_frames(sample: Sample, lines: list[bytes], rng: Random) -> None:
    _check_cuts(lambda: Events(LIMIT_BYTES), b"".join(lines), rng)


def _check_lines(sample: Sample, lines: list[bytes], rng: Random) -> None:
    _check_cuts(lambda: Lines(LIMIT_BYTES), b"\n".join(lines) + b"\n", rng)


def _check_frames(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """Headers are damaged too, once the length of the body is written."""
    frames = [frame(line) for line in lines]
    _check_cuts(
        lambda: Frames(LIMIT_BYTES), b"".join(mutate_chunks(rng, frames) if rng.random() < 0.5 else frames), rng
    )


def _check_cuts(make_framing: Callable[[], Any], body: bytes, rng: Random) -> None:
    """The messages are the same, however the bytes are cut."""
    whole = make_framing().feed(body)
    framing = make_framing()
    pieces = [message for piece in cut_bytes(rng, body) for message in framing.feed(piece)]
    assert pieces == whole
