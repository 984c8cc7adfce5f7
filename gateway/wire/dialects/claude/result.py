"""The `result` line → what was used, what it cost, and how the turn ended.

In: the line that ends a turn of Claude's, and what its model's failure was called before. Out: `TokenUsage`, the cost,
`TurnFailed`. A failure may be a `success` by its subtype, so only `is_error` counts.

What was used is told for each model since the last result; older versions only add up, and go on with the sum when a
session is resumed. A difference needs both ends: where the first is not known, the turn's own `usage` is told, which
leaves subagents out.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, TokenUsage, TurnFailed
from gateway.wire.fields import COUNT_MAX, count, non_empty, obj, text

COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "thinkingTokens")
PLAIN = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
PROVIDERS = {"firstParty": "anthropic", "anthropicAws": "anthropic", "anthropicGoogleCloud": "anthropic"}
"""Claude's word for who serves the model → the usual one, where they differ."""

LIMITS = {
    "error_max_turns": ("TURN_LIMIT", "The turn reached its limit of model calls."),
    "error_max_budget_usd": ("BUDGET_LIMIT", "The turn reached its limit of cost."),
    "error_max_structured_output_retries": ("OUTPUT_INVALID", "The answer did not fit its schema."),
}
SIGN_IN = ("authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required")
STOPS = ("max_tokens", "refusal", "model_context_window_exceeded")
"""Ends that are worth a word; all others are the usual one."""
INTERNAL = "[ede_diagnostic]"
"""Begins an error that is about Claude Code's own state, and no help to anybody."""
LOST = "No conversation found with session ID"

Totals = dict[str, dict[str, int]]


class Book:
    """One session's counts."""

    def __init__(self) -> None:
        self._before: Totals | None = None
        self._spent: float | None = None
        self._untold = 0.0

    def begin(self, *, new: bool) -> None:
        """A process. `new`: nothing was used in its session before."""
        self._before, self._spent = ({}, 0.0) if new else (None, None)

    def read(self, line: dict[str, Any], model: str | None) -> list[TokenUsage]:
        """What a result adds; its cost is kept for `cost`."""
        self._untold += self._cost(line)
        now = _totals(line.get("modelUsage"))
        before, self._before = self._before, now or self._before
        since = line.get("model_usage_since_last_result")
        if isinstance(since, dict):
            used = _totals(since)
        elif now and before is not None:
            used = {name: _less(counts, before.get(name, {})) for name, counts in now.items()}
        else:
            plain = dict(zip(COUNTS, (count(obj(line.get("usage")).get(name)) or 0 for name in PLAIN), strict=False))
            used = {model or "": plain}
        about = obj(line.get("modelUsage"))
        return [_used(name, counts, obj(about.get(name))) for name, counts in used.items() if any(counts.values())]

    def cost(self) -> list[Custom]:
        """Of all results since it was last told."""
        usd, self._untold = round(self._untold, 9), 0.0
        return [Custom("cost", {"usd": usd})] if usd > 0 else []

    def _cost(self, line: dict[str, Any]) -> float:
        total, since = _money(line.get("total_cost_usd")), line.get("model_usage_since_last_result")
        before, self._spent = self._spent, self._spent if total is None else total
        if isinstance(since, dict):
            return sum(_money(obj(told).get("costUSD")) or 0.0 for told in since.values())
        return 0.0 if total is None or before is None else max(0.0, total - before)


def _totals(told: Any) -> Totals:
    return {name: {key: count(obj(counts).get(key)) or 0 for key in COUNTS} for name, counts in obj(told).items()}


def _less(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    if any(now[key] < before.get(key, 0) for key in now):
        return now  # counted afresh, after `/clear`
    return {key: value - before.get(key, 0) for key, value in now.items()}


def _used(name: str, counts: dict[str, int], about: dict[str, Any]) -> TokenUsage:
    """The cache is told beside the input; thinking inside the output."""
    cached, written = counts.get("cacheReadInputTokens", 0), counts.get("cacheCreationInputTokens", 0)
    given = min(counts["inputTokens"] + cached + written, COUNT_MAX)
    made = counts["outputTokens"]
    provider = non_empty(about.get("provider"))
    return TokenUsage(
        provider=PROVIDERS.get(provider, provider) if provider else None,
        model=name or None,
        input_tokens=given,
        output_tokens=made,
        total_tokens=min(given + made, COUNT_MAX),
        reasoning_tokens=counts.get("thinkingTokens"),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
    )


def _money(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if good else None


def aborted(line: dict[str, Any]) -> bool:
    return line.get("is_error") is True and str(line.get("terminal_reason")).startswith("aborted_")


def stop_reason(line: dict[str, Any]) -> str:
    told = line.get("stop_reason")
    return told if told in STOPS else "end_turn"


def failure(line: dict[str, Any], kind: str | None) -> TurnFailed | None:
    """`kind`: what the model's failure was called where it was told as an answer."""
    if line.get("is_error") is not True:
        return None
    errors = line.get("errors") if isinstance(line.get("errors"), list) else []
    words = "\n".join(one for one in errors or () if isinstance(one, str) and not one.startswith(INTERNAL))
    words = words or (text(line.get("result")) or "").strip()
    code, otherwise = LIMITS.get(str(line.get("subtype")), (None, "Claude Code ended the turn with an error."))
    return TurnFailed(words or otherwise, code or _code(line, kind, words))


def _code(line: dict[str, Any], kind: str | None, words: str) -> str:
    if words.startswith(LOST):
        return "SESSION_NOT_FOUND"
    if kind in SIGN_IN or line.get("api_error_status") in (401, 403):
        return "AUTH_REQUIRED"
    if line.get("terminal_reason") == "max_turns":
        return "TURN_LIMIT"
    from_model = kind is not None or line.get("terminal_reason") in ("api_error", "model_error", "prompt_too_long")
    return "MODEL_ERROR" if from_model or line.get("api_error_status") is not None else "AGENT_ERROR"
