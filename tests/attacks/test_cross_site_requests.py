"""A page of another site that makes its visitor's browser call the gateway, without reading the answer.

The incident: `<img src="http://127.0.0.1:8123/agents/claude/capabilities?probe=1">` started an agent. An image sends no
`Origin`, so the check of origins did not see it.

The promise: what a browser marks as `Sec-Fetch-Site: cross-site` is refused on every route but the console's pages,
which other sites may link to. Pages whose origin the operator allows still may call.
"""

from __future__ import annotations

import pytest

from tests.support.gateway import Gateway
from tests.support.routes import endpoints
from tests.web.conftest import PAGE, Guarded, guarded
from tests.web.problem import problem_in

CROSS = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}

__all__ = ["guarded"]


@pytest.mark.parametrize(("method", "path"), sorted(each for each in endpoints() if each[0] != "WS"))
def test_no_route_but_the_console_answers_another_site(gateway: Gateway, method: str, path: str) -> None:
    target = path.replace("{agent}", "echo").replace("{", "").replace("}", "").replace(":path", "")
    response = gateway.client.request(method, target, headers=CROSS)
    if path in ("/", "/console/{path:path}"):
        assert response.status_code in (200, 404)
    else:
        problem_in(response, 403, "CROSS_SITE")


@pytest.mark.parametrize("path", ["/agents/claude/capabilities?probe=1", "/agents/demo/capabilities", "/readyz"])
def test_an_image_of_another_site_starts_nothing(gateway: Gateway, path: str) -> None:
    problem_in(gateway.client.get(path, headers=CROSS), 403, "CROSS_SITE")


@pytest.mark.parametrize("site", ["same-origin", "none", "same-site"])
def test_the_gateways_own_page_and_the_address_bar_are_answered(gateway: Gateway, site: str) -> None:
    assert gateway.client.get("/agents/echo", headers={"sec-fetch-site": site}).status_code == 200


def test_a_link_of_another_site_opens_the_console(gateway: Gateway) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "accept": "text/html"}
    assert gateway.client.get("/", headers=headers).status_code == 200


def test_a_page_that_is_allowed_may_call_from_another_site(guarded: Guarded) -> None:
    headers = {**guarded.ann, **CROSS, "sec-fetch-mode": "cors", "origin": PAGE}
    assert guarded.gateway.client.get("/agents/echo", headers=headers).status_code == 200
