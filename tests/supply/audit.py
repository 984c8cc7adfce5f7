"""Looks for known vulnerabilities in the locked packages: `python -m tests.supply.audit LOCK …`.

In: lock files. Out: a report on stdout, and the exit code: 0, every package was looked up and none is known to be
vulnerable; 1, some are; 3, packages could not be looked up, which says nothing about them. pip-audit ends with 0 when
its source knows no package at all, so its exit code alone is not enough.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

CLEAN, VULNERABLE, UNREACHABLE = 0, 1, 3
TIMEOUT_SECONDS = 600
COMMAND = ("-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json")


@dataclass(frozen=True, slots=True)
class Findings:
    audited: frozenset[str]
    skipped: frozenset[str]
    vulnerable: tuple[str, ...]
    """A line for each: the package, the vulnerability, the versions that have it no more."""

    @property
    def exit_code(self) -> int:
        return VULNERABLE if self.vulnerable else UNREACHABLE if self.skipped or not self.audited else CLEAN


def read_findings(reports: Iterable[dict[str, Any]]) -> Findings:
    """From pip-audit's JSON."""
    audited: set[str] = set()
    skipped: set[str] = set()
    vulnerable: dict[str, None] = {}
    for report in reports:
        for package in report["dependencies"]:
            if "skip_reason" in package:
                skipped.add(package["name"])
                continue
            name = f"{package['name']} {package['version']}"
            audited.add(name)
            for found in package["vulns"]:
                fixed = ", ".join(found.get("fix_versions") or ()) or "none yet"
                vulnerable[f"{name}: {found['id']}; fixed in {fixed}"] = None
    return Findings(frozenset(audited), frozenset(skipped), tuple(vulnerable))


def describe(findings: Findings) -> str:
    lines = [f"{len(findings.audited)} packages were looked up, {len(findings.vulnerable)} vulnerabilities are known."]
    lines += findings.vulnerable
    if findings.skipped or not findings.audited:
        lines.append(
            f"{len(findings.skipped)} packages could not be looked up: the source of vulnerabilities cannot be reached "
            "from this network, or does not know them. This says nothing about them; run it again where it can."
        )
    return "\n".join(lines)


def audit(lock: str) -> dict[str, Any]:
    """pip-audit's report; an empty one where it could not be made."""
    done = subprocess.run(
        [sys.executable, *COMMAND, "-r", lock], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        print(f"{lock}: {(done.stderr.strip().splitlines() or ['no report'])[-1]}", file=sys.stderr)
        return {"dependencies": []}
    return report


def main(locks: Sequence[str]) -> int:
    findings = read_findings([audit(lock) for lock in locks])
    print(describe(findings))
    return findings.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
