"""The `result` line → token usage, cost, and how the turn ended.

In: the line that ends a turn of Claude's, and the name of a model error that was reported before it. Out:
`TokenUsage`, the cost, `TurnFailed`. A failure may have the subtype `success`, so only `is_error` counts.

Newer versions report usage per model since the last result. Older versions report totals only, and a resumed session
continues its totals. A difference needs both ends: if the first is unknown, the turn's own `usage` is reported, which
does not include subagents.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, TokenUsage, TurnFailed
from gateway.wire.fields import COUNT_MAX, count, non_empty, obj, strings, text

COUNTERS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "thinkingTokens")
USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""Fields of `usage`, in the order of `COUNTERS`."""
PROVIDERS = {"firstParty": "anthropic", "anthropicAws": "anthropic", "anthropicGoogleCloud": "anthropic"}
"""Claude Code's name of the model provider → the usual name, where they differ."""
MAX_COST_USD = 1e9

LIMIT_ERRORS = {
    "error_max_turns": ("TURN_LIMIT", "The turn reached its limit of model calls."),
    "error_max_budget_usd": ("BUDGET_LIMIT", "The turn reached its limit of cost."),
    "error_max_structured_output_retries": ("OUTPUT_INVALID", "The answer did not fit its schema."),
}
AUTH_ERRORS = ("authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required")
AUTH_STATUS = (401, 403)
STOP_REASONS = ("max_tokens", "refusal", "model_context_window_exceeded")
"""Stop reasons that are passed on; all others are the usual end of a turn."""
DIAGNOSTIC_PREFIX = "[ede_diagnostic]"
"""Begins an error about Claude Code's internal state, which helps no reader."""
SESSION_NOT_FOUND_TEXT = "No conversation found with session ID"

Totals = dict[str, dict[str, int]]


class UsageTotals:
    """Token counts and cost of one session."""

    def __init__(self) -> None:
        self._totals: Totals | None = None
        self._total_cost: float | None = None
        self._unreported_cost = 0.0

    def start_process(self, *, is_new_session: bool) -> None:
        self._totals = {} if is_new_session else None
        self._total_cost = 0.0 if is_new_session else None

    def read_result(self, line: dict[str, Any], model: str | None) -> list[TokenUsage]:
        """The tokens that a result adds. Its cost is kept for `take_cost`."""
        self._unreported_cost += self._added_cost(line)
        totals = _read_totals(line.get("modelUsage"))
        before = self._totals
        self._totals = totals or before
        since = line.get("model_usage_since_last_result")
        if isinstance(since, dict):
            added = _read_totals(since)
        elif totals and before is not None:
            added = {name: _subtract(counts, before.get(name, {})) for name, counts in totals.items()}
        else:
            usage = obj(line.get("usage"))
            added = {
                model or "": dict(zip(COUNTERS, (count(usage.get(name)) or 0 for name in USAGE_FIELDS), strict=False))
            }
        details = obj(line.get("modelUsage"))
        return [
            _to_usage(name, counts, obj(details.get(name))) for name, counts in added.items() if any(counts.values())
        ]

    def take_cost(self) -> list[Custom]:
        """The cost of all results since the last call."""
        usd = round(self._unreported_cost, 9)
        self._unreported_cost = 0.0
        return [Custom("cost", {"usd": usd})] if usd > 0 else []

    def _added_cost(self, line: dict[str, Any]) -> float:
        total, before = _read_cost(line.get("total_cost_usd")), self._total_cost
        self._total_cost = before if total is None else total
        since = line.get("model_usage_since_last_result")
        if isinstance(since, dict):
            return sum(_read_cost(obj(usage).get("costUSD")) or 0.0 for usage in since.values())
        return 0.0 if total is None or before is None else max(0.0, total - before)


def _read_totals(usage: Any) -> Totals:
    return {name: {key: count(obj(counts).get(key)) or 0 for key in COUNTERS} for name, counts in obj(usage).items()}


def _subtract(totals: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    if any(totals[key] < before.get(key, 0) for key in totals):
        return totals  # counted from zero again, after `/clear`
    return {key: value - before.get(key, 0) for key, value in totals.items()}


def _to_usage(model: str, counts: dict[str, int], details: dict[str, Any]) -> TokenUsage:
    """Claude counts cached tokens beside the input, and thinking tokens inside the output."""
    cached, cache_written = counts.get("cacheReadInputTokens", 0), counts.get("cacheCreationInputTokens", 0)
    input_tokens = min(counts["inputTokens"] + cached + cache_written, COUNT_MAX)
    output_tokens = counts["outputTokens"]
    provider = non_empty(details.get("provider"))
    return TokenUsage(
        provider=PROVIDERS.get(provider, provider) if provider else None,
        model=model or None,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=min(input_tokens + output_tokens, COUNT_MAX),
        reasoning_tokens=counts.get("thinkingTokens"),
        cached_input_tokens=cached,
        cache_write_input_tokens=cache_written,
    )


def _read_cost(value: Any) -> float | None:
    is_valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_COST_USD
    return float(value) if is_valid else None


def is_aborted(line: dict[str, Any]) -> bool:
    return line.get("is_error") is True and str(line.get("terminal_reason")).startswith("aborted_")


def read_stop_reason(line: dict[str, Any]) -> str:
    reason = line.get("stop_reason")
    return reason if reason in STOP_REASONS else "end_turn"


def read_failure(line: dict[str, Any], model_error: str | None) -> TurnFailed | None:
    """`model_error`: Claude's name of a model error that it reported as an assistant message."""
    if line.get("is_error") is not True:
        return None
    message = "\n".join(error for error in strings(line.get("errors")) if not error.startswith(DIAGNOSTIC_PREFIX))
    message = message or (text(line.get("result")) or "").strip()
    code, default = LIMIT_ERRORS.get(str(line.get("subtype")), (None, "Claude Code ended the turn with an error."))
    return TurnFailed(message or default, code or _error_code(line, model_error, message))


def _error_code(line: dict[str, Any], model_error: str | None, message: str) -> str:
    status, reason = line.get("api_error_status"), line.get("terminal_reason")
    if message.startswith(SESSION_NOT_FOUND_TEXT):
        return "SESSION_NOT_FOUND"
    if model_error in AUTH_ERRORS or status in AUTH_STATUS:
        return "AUTH_REQUIRED"
    if reason == "max_turns":
        return "TURN_LIMIT"
    is_model_error = model_error is not None or status is not None
    return (
        "MODEL_ERROR" if is_model_error or reason in ("api_error", "model_error", "prompt_too_long") else "AGENT_ERROR"
    )
