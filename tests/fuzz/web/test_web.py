"""A fixed sample of the structural fuzzing, and the fuzzer itself: it covers every route, and finds what is wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random

from starlette.routing import Route

from tests.fuzz.web.client import Fuzzer
from tests.fuzz.web.frames import make_frame
from tests.fuzz.web.requests import ENDPOINTS, Endpoint, endpoints, make_request
from tests.fuzz.web.target import fuzz_gateway

SEED = 12
REQUESTS, FRAMES = 600, 200


def test_no_spoilt_request_or_frame_breaks_the_gateway(tmp_path: Path) -> None:
    report = fuzz_gateway(tmp_path, SEED, REQUESTS, FRAMES)
    assert report.failures == []
    assert (report.requests, report.frames) == (REQUESTS, FRAMES)
    assert report.statuses["200"] > REQUESTS / 10  # deep enough: not all is refused at once


def test_every_route_is_fuzzed_and_a_new_one_would_be() -> None:
    sample = {make_request(Random(number)).endpoint for number in range(2000)}
    assert sample == set(ENDPOINTS)
    added = [Route("/new/{thing}", lambda request: None, methods=["POST"])]
    assert list(endpoints(added)) == [Endpoint("POST", "/new/{thing}")]
    assert b"/new/" in make_request(Random(1), Endpoint("POST", "/new/{thing}")).data


def test_a_case_is_the_same_again() -> None:
    one, two = Fuzzer(0, 7), Fuzzer(0, 7)
    assert make_request(one.case("request", 3)) == make_request(two.case("request", 3))
    assert make_frame(one.case("frame", 3)) == make_frame(two.case("frame", 3))


def test_answers_that_must_not_be_are_reported() -> None:
    fuzzer = Fuzzer(0, 1)
    request = make_request(Random(1))
    answers = [
        b"HTTP/1.1 500 Internal Server Error\r\n\r\n",
        b"",
        b"HTTP/1.1 504 Gateway Timeout\r\n\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\n\r\nno problem",
        b'HTTP/1.1 200 OK\r\n\r\ndata: {"type":"RUN_ERROR","code":"INTERNAL_ERROR"}',
    ]
    for number, answer in enumerate(answers):
        fuzzer._judge(number, request, answer)
    assert len(fuzzer.report.failures) == len(answers)
    fuzzer._judge(9, request, b'HTTP/1.1 502 Bad Gateway\r\n\r\n{"code":"AGENT_ERROR"}')
    assert len(fuzzer.report.failures) == len(answers)
    assert fuzzer.report.foreign_faults()["502 AGENT_ERROR"] == 1
