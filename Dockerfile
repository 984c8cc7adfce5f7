# agui-gateway as a container. It listens on all interfaces, so it insists on a token:
#   agui-gateway token add me --file tokens.json && chmod 644 tokens.json   (it has only hashes)
#   docker build -t agui-gateway .
#   docker run -p 8123:8123 -v agui-data:/data -v agui-workspace:/workspace \
#     -v ./tokens.json:/run/secrets/agui-gateway-tokens:ro agui-gateway
# Two volumes: agents work in /workspace; /data has the store and the agents' own homes, and no agent works there.

FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY gateway ./gateway
COPY agents ./agents
RUN python -m venv /opt/agui-gateway
RUN /opt/agui-gateway/bin/pip install --no-cache-dir .

FROM python:3.12-slim
COPY --from=build /opt/agui-gateway /opt/agui-gateway
# A number, not a name: orchestrators that insist on a user other than root can only check a number.
RUN install -d -m 0700 -o 10001 -g 10001 /data /workspace
ENV PATH=/opt/agui-gateway/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/data \
    AGUI_GATEWAY_HOST=0.0.0.0 \
    AGUI_GATEWAY_PORT=8123 \
    AGUI_GATEWAY_STORE=sqlite:///data/gateway.db \
    AGUI_GATEWAY_WORKSPACE=/workspace \
    AGUI_GATEWAY_TOKEN_FILE=/run/secrets/agui-gateway-tokens
USER 10001:10001
WORKDIR /workspace
VOLUME /data
VOLUME /workspace
EXPOSE 8123
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ['AGUI_GATEWAY_PORT']}/healthz\", timeout=2)"]
ENTRYPOINT ["agui-gateway", "serve"]
