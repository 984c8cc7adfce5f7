"""Whether the gateway itself runs in a container."""

from __future__ import annotations

from pathlib import Path

MARKERS = ("run/.containerenv", ".dockerenv", "run/systemd/container", "var/run/secrets/kubernetes.io")
"""Files that Podman, Docker, systemd-nspawn and Kubernetes put into a container."""
CGROUP_NAMES = ("docker", "kubepods", "libpod", "containerd", "lxc")


def container_evidence(root: Path = Path("/")) -> str | None:
    """What shows it; None: nothing does."""
    for name in MARKERS:
        if (root / name).exists():
            return f"/{name}"
    for name, texts in (("proc/1/cgroup", CGROUP_NAMES), ("proc/1/environ", ("container=",))):
        try:
            text = (root / name).read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if any(part in text for part in texts):
            return f"/{name}"
    return None
