"""Whether a tool failed, from its result in AG-UI's form.

In: the text and the `metadata` of a `TOOL_CALL_RESULT` event. Out: the reason why the tool failed, or None. A call that
never had a result failed, too: its text is one of the gateway's own sentences. A result without a mark is no failure.
"""

from __future__ import annotations

from typing import Any

from gateway.agui.tool_results import failure_mark
from gateway.turn import CANCELLED, NO_RESULT, UNREPORTED

NEVER_ANSWERED = (UNREPORTED, CANCELLED, NO_RESULT)


def tool_error(text: str, metadata: Any) -> str | None:
    """The reason is never empty."""
    mark = failure_mark(metadata)
    if mark is None and not text.startswith(NEVER_ANSWERED):
        return None
    return text or f"The agent reports: {mark}."
