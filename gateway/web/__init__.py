"""HTTP and WebSocket: everything that knows ASGI, and nothing else.

In: requests. Out: responses, event streams, problems. Never: decisions about runs, threads or capabilities; these are
in `gateway.service` and below.

Names to know: `app.create_app` (routes and middleware), `server.serve` (uvicorn with a drain at shutdown),
`event_stream.EventStream` (a run's log or a feed as a response), `problems.problem_response`, `routes` (one module per
resource), `middleware`.
"""
