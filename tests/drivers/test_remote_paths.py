"""Names in the paths of another gateway."""

from __future__ import annotations

import pytest

from gateway.drivers.remote.requests import escape_segment


@pytest.mark.parametrize(("name", "segment"), [("..", "%2E%2E"), ("a/b", "a%2Fb"), ("\ud800", "%3F")])
def test_a_name_is_one_segment_whatever_it_holds(name: str, segment: str) -> None:
    assert escape_segment(name) == segment
