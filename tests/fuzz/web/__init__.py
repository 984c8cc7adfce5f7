"""Structural fuzzing of every route of a real gateway: the right method, and everything else wrong.

In: the routes (`gateway.web.routes.ROUTES`) and the descriptions of their input (`gateway.agui`). Out: requests and
WebSocket frames derived from them, so that a new route is covered by itself, and what was wrong with the answers.
`python -m tests.fuzz.web` sends 50,000 requests and 10,000 frames; a fixed sample is part of `make test`. Names:
`bodies` (valid input and how it is spoilt), `requests.make_request`, `frames.make_frame`, `client` (sends, judges).
"""
