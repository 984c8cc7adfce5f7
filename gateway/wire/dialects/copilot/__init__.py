"""GitHub Copilot CLI: its SDK server, and the lines that `copilot -p` prints. Both tell the same session events."""

from __future__ import annotations

from gateway.wire.dialects.copilot.print import CopilotPrintDialect
from gateway.wire.dialects.copilot.sdk_server import CopilotDialect

__all__ = ["CopilotDialect", "CopilotPrintDialect"]
