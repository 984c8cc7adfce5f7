"""`make audit` says what it knows, and what it does not."""

from __future__ import annotations

import pytest

from tests.supply.audit import CLEAN, UNREACHABLE, VULNERABLE, describe, read_findings

GOOD = {"name": "anyio", "version": "4.16.0", "vulns": []}
BAD = {"name": "otter", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}
UNKNOWN = {"name": "stoat", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "text"),
    [
        ([GOOD], CLEAN, "1 packages were looked up, 0 vulnerabilities"),
        ([GOOD, BAD], VULNERABLE, "otter 1.0: PYSEC-1; fixed in 1.1"),
        ([GOOD, UNKNOWN], UNREACHABLE, "1 packages could not be looked up"),
        ([BAD, UNKNOWN], VULNERABLE, "1 packages could not be looked up"),
        ([], UNREACHABLE, "cannot be reached from this network"),
    ],
)
def test_the_exit_code_tells_clean_from_unknown(packages: list[dict[str, object]], code: int, text: str) -> None:
    findings = read_findings([{"dependencies": packages}])
    assert findings.exit_code == code
    assert text in describe(findings)
