"""ASGI middleware around all routes: `security.SecurityMiddleware` (Host, Origin, token, CORS),
`gzip.GzipMiddleware`."""
