"""Token counts as agents report them → AG-UI's accounting, where totals include their parts.

In: `usage` of a prompt's answer (or of version 2's idle state), and two vendors' own fields. Out: `TokenUsage`.

ACP names the parts and does not say whether cached and reasoning tokens are *inside* the input and output or *beside*
them, and agents follow their providers: codex-acp counts reasoning inside (11 + 20 = 31, of which 5 are reasoning), an
Anthropic-style count has the cache beside. The total decides: the sum that equals it is the agent's meaning. Without a
total, a part that is larger than its whole must be beside it, and counts as inside otherwise.

Nor does ACP say what the numbers cover. Most agents count the turn; copilot-cli and hermes-agent count all turns of the
process. Numbers cannot show which, so the agent's definition does (`covers`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from gateway.events import TokenUsage
from gateway.wire.fields import count, items, non_empty, obj

Covers = Literal["turn", "session"]


class UsageCounter:
    """The counts of one session. `covers="session"`: each report includes the turns before."""

    def __init__(self, covers: Covers = "turn") -> None:
        self._covers = covers
        self._last = TokenUsage()

    def read(self, usage: Any, meta: Any = None) -> TokenUsage | None:
        """None: nothing was counted. Some agents report zero where they do not know."""
        quota = obj(obj(meta).get("quota"))
        # grok has the turn's tokens in `_meta`.
        own = parse_usage(obj(usage)) or parse_usage(obj(obj(meta).get("usage")))
        reported = own or _parse_quota(obj(quota.get("token_count")))
        if reported is None:
            return None
        tokens = self._since_last(reported) if self._covers == "session" else reported
        if not tokens.total_tokens:
            return None
        models = [non_empty(entry.get("model")) for entry in items(quota.get("model_usage"))]
        return replace(tokens, model=models[0]) if len(models) == 1 else tokens

    def _since_last(self, reported: TokenUsage) -> TokenUsage:
        last = self._last
        self._last = reported
        # A smaller count comes from a new process, which counts from zero.
        if (reported.total_tokens or 0) < (last.total_tokens or 0):
            return reported
        return TokenUsage(
            input_tokens=_difference(reported.input_tokens, last.input_tokens),
            output_tokens=_difference(reported.output_tokens, last.output_tokens),
            total_tokens=_difference(reported.total_tokens, last.total_tokens),
            reasoning_tokens=_difference(reported.reasoning_tokens, last.reasoning_tokens),
            cached_input_tokens=_difference(reported.cached_input_tokens, last.cached_input_tokens),
            cache_write_input_tokens=_difference(reported.cache_write_input_tokens, last.cache_write_input_tokens),
        )


def _difference(reported: int | None, last: int | None) -> int | None:
    return None if reported is None else max(0, reported - (last or 0))


def parse_usage(usage: dict[str, Any]) -> TokenUsage | None:
    """`inputTokens`, `outputTokens`, `cachedReadTokens`, `cachedWriteTokens`, `thoughtTokens`, `totalTokens`;
    grok has other names for two of them."""
    reported_input = count(usage.get("inputTokens"))
    reported_output = count(usage.get("outputTokens"))
    if reported_input is None and reported_output is None:
        return None
    cache_read = count(usage.get("cachedReadTokens"))
    cache_write = _first_count(usage, "cachedWriteTokens", "cacheCreationTokens")
    reasoning = _first_count(usage, "thoughtTokens", "reasoningTokens")
    cache = (cache_read or 0) + (cache_write or 0)
    total = count(usage.get("totalTokens"))
    extra = _tokens_beside(reported_input or 0, reported_output or 0, cache, reasoning or 0, total)
    input_tokens = (reported_input or 0) + extra[0]
    output_tokens = (reported_output or 0) + extra[1]
    return TokenUsage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
        reasoning_tokens=reasoning,
        cached_input_tokens=cache_read,
        cache_write_input_tokens=cache_write,
    )


def _first_count(usage: dict[str, Any], *keys: str) -> int | None:
    return next((value for key in keys if (value := count(usage.get(key))) is not None), None)


def _tokens_beside(
    input_tokens: int, output_tokens: int, cache: int, reasoning: int, total: int | None
) -> tuple[int, int]:
    """What must be added to input and output. If two sums equal the total, the cache is the likelier one."""
    for extra in ((0, 0), (cache, 0), (0, reasoning), (cache, reasoning)):
        if input_tokens + output_tokens + sum(extra) == total:
            return extra
    return (cache if cache > input_tokens else 0), (reasoning if reasoning > output_tokens else 0)


def _parse_quota(quota: dict[str, Any]) -> TokenUsage | None:
    """gemini-cli's field in `_meta`."""
    input_tokens = count(quota.get("input_tokens"))
    output_tokens = count(quota.get("output_tokens"))
    if input_tokens is None or output_tokens is None:
        return None
    total = input_tokens + output_tokens
    return TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=total)
