"""AG-UI's binary format: events as length-prefixed protobuf messages (`proto/ag_ui.proto`).

In: events as JSON objects, or bytes of a remote agent. Out: the other one. Names to know: `encoder.ENCODER`,
`encoder.encode_frames`, `decoder.FrameDecoder`; `tables` and `shapes` hold what both share, `pb` is generated.
"""
