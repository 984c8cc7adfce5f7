"""Wire formats: AG-UI events as bytes. Pure.

In: consecutive events, as lines of JSON and often as objects too, and the number of the first. Out: the bytes to send.
Never: IO, or the order and validity of events (`gateway.agui`).

Names to know: `base.Encoder` (one format), `negotiate.ENCODERS` (all formats over HTTP) and `negotiate.negotiate`
(`Accept` → encoder), `websocket.SUBPROTOCOLS`, `protobuf.decoder.FrameDecoder`. A new format is one module with an
`ENCODER`, and one line in `ENCODERS`.
"""
