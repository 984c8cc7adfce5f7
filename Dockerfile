# agui-gateway as a container. It listens on all interfaces, so it insists on a token:
#   agui-gateway token add me --file tokens.json && chmod 644 tokens.json   (it has only hashes)
#   docker build -t agui-gateway .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 8123:8123 -v agui-data:/data -v agui-workspace:/workspace \
#     -v ./tokens.json:/run/secrets/agui-gateway-tokens:ro agui-gateway
# Two volumes: agents work in /workspace; /data has the store and the agents' own homes, and no agent works there. Nothing
# else is written but temporary files, so the rest may be read-only.

# The base is named by its digest (Python 3.12.14 on Debian trixie, for all platforms), because a tag can be moved. To renew
# it: docker buildx imagetools inspect python:3.12-slim
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
WORKDIR /src
COPY requirements ./requirements
RUN python -m venv /opt/build
RUN /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
RUN python -m venv /opt/supply
RUN /opt/supply/bin/pip install --no-cache-dir --require-hashes -r requirements/supply.txt
# What is served has no pip of its own: the builder's installs into it.
RUN python -m venv --without-pip /opt/agui-gateway
RUN /opt/build/bin/pip --python /opt/agui-gateway/bin/python install --no-cache-dir --require-hashes -r requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY gateway ./gateway
COPY agents ./agents
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation -w dist .
RUN /opt/build/bin/pip --python /opt/agui-gateway/bin/python install --no-cache-dir --no-deps --no-index dist/*.whl
# The parts of the image's Python, as CycloneDX. The console has no packages: all of its code is the project's.
RUN /opt/supply/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
    -o /src/sbom.cdx.json /opt/agui-gateway/bin/python

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
COPY --from=build /opt/agui-gateway /opt/agui-gateway
COPY --from=build /src/sbom.cdx.json /usr/share/doc/agui-gateway/sbom.cdx.json
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
