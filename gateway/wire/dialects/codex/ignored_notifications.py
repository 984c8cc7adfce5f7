"""Notifications of `codex app-server` that are not read one by one: what is left out, and what is handed on whole."""

from __future__ import annotations

NOISE = frozenset(
    (
        "thread/started", "thread/status/changed", "thread/archived", "thread/unarchived", "thread/deleted",
        "thread/closed",  # known by our own requests, or by the turns
        "thread/readState/changed", "thread/queue/changed", "thread/project/updated", "thread/goal/cleared",
        "thread/prediction/updated", "thread/attachment/updated", "project/changed",  # what an editor shows beside it
        "thread/environment/connected", "thread/environment/disconnected",
        "configWarning",  # about the machine: for who runs it, who finds it on stderr
        "thread/compacted",  # the same as the item `contextCompaction`
        "item/reasoning/summaryPartAdded",  # the next delta's index says it
        "item/fileChange/outputDelta",  # no longer sent
        "account/updated", "account/rateLimits/updated", "account/gatewayOAuth/changed", "account/login/completed",
        "app/list/updated", "skills/changed", "fs/changed", "remoteControl/status/changed", "deprecationNotice",
        "windows/worldWritableWarning", "windowsSandbox/setupCompleted", "mcpServer/oauthLogin/completed",
        "rawResponseItem/completed", "rawResponse/completed",
    )
)  # fmt: skip
"""Nothing of a turn: dropped, and not even sent by a server that can be asked to leave them out."""
TOLD = {
    "hook/started": "codex.hook",
    "hook/completed": "codex.hook",
    "item/autoApprovalReview/started": "codex.auto_review",
    "item/autoApprovalReview/completed": "codex.auto_review",
    "autoApprovalReview/strictReviewRequired": "codex.auto_review",
    "item/commandExecution/terminalInteraction": "codex.stdin",
    "model/verification": "codex.model",
    "model/safetyBuffering/updated": "codex.model",
    "modelProvider/authRecoveryStarted": "codex.model",
    "modelProvider/authRecoveryCompleted": "codex.model",
    "turn/moderationMetadata": "codex.moderation",
    "thread/goal/updated": "codex.goal",
    "thread/reverted": "codex.reverted",
}
"""Handed on whole, as CUSTOM events with these names."""
