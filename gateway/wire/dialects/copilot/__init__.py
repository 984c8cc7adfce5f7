"""GitHub Copilot CLI: its SDK server, and the lines that `copilot -p` prints.

In: JSON-RPC messages of the server, or lines of stdout; both carry the same session events. Out: events, and requests
or a prompt. Names to know: `CopilotDialect`, `CopilotPrintDialect`, `SessionEvents`, `REQUEST_KINDS`.
"""

from __future__ import annotations

from gateway.wire.dialects.copilot.print import CopilotPrintDialect
from gateway.wire.dialects.copilot.sdk_server import CopilotDialect

__all__ = ["CopilotDialect", "CopilotPrintDialect"]
