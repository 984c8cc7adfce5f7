"""Token counts as agents report them → AG-UI's accounting, where totals include their parts.

In: `usage` of a prompt's answer (or of version 2's idle state), and two vendors' own places for it. Out: `TokenUsage`.

ACP names the parts and does not say whether cached and thought tokens stand *inside* the input and output or *beside*
them, and agents follow their providers: codex-acp counts thoughts inside (11 + 20 = 31, of which 5 are thoughts), an
Anthropic-style count has the cache beside. The total tells: whichever sum makes it is the agent's meaning. Without a
total a part that is larger than its whole must be beside, and is believed inside otherwise.

Nor does it say what the numbers cover. Most agents count the turn; copilot-cli and hermes-agent go on counting over
all turns of the process. Numbers cannot tell these apart, so that is the agent's definition to say (`covers`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from gateway.events import TokenUsage
from gateway.wire.fields import count, items, non_empty, obj

Covers = Literal["turn", "session"]


class UsageBook:
    """One session's counts. `covers="session"`: each report includes the turns before."""

    def __init__(self, covers: Covers = "turn") -> None:
        self._covers = covers
        self._before = TokenUsage()

    def read(self, usage: Any, meta: Any = None) -> TokenUsage | None:
        """None: nothing was counted. A zero is how some agents say that they do not know."""
        quota = obj(obj(meta).get("quota"))
        now = accounted(obj(usage)) or _quota(obj(quota.get("token_count")))
        if now is None:
            return None
        told = self._since(now) if self._covers == "session" else now
        if not told.total_tokens:
            return None
        models = [non_empty(entry.get("model")) for entry in items(quota.get("model_usage"))]
        return replace(told, model=models[0]) if len(models) == 1 else told

    def _since(self, now: TokenUsage) -> TokenUsage:
        before, self._before = self._before, now
        # A smaller count is a new process that began to count afresh.
        if (now.total_tokens or 0) < (before.total_tokens or 0):
            return now
        return TokenUsage(
            input_tokens=_more(now.input_tokens, before.input_tokens),
            output_tokens=_more(now.output_tokens, before.output_tokens),
            total_tokens=_more(now.total_tokens, before.total_tokens),
            reasoning_tokens=_more(now.reasoning_tokens, before.reasoning_tokens),
            cached_input_tokens=_more(now.cached_input_tokens, before.cached_input_tokens),
            cache_write_input_tokens=_more(now.cache_write_input_tokens, before.cache_write_input_tokens),
        )


def _more(now: int | None, before: int | None) -> int | None:
    return None if now is None else max(0, now - (before or 0))


def accounted(usage: dict[str, Any]) -> TokenUsage | None:
    given, made = count(usage.get("inputTokens")), count(usage.get("outputTokens"))
    if given is None and made is None:
        return None
    cached, written = count(usage.get("cachedReadTokens")), count(usage.get("cachedWriteTokens"))
    thought = count(usage.get("thoughtTokens"))
    cache = (cached or 0) + (written or 0)
    beside_input, beside_output = _beside(given or 0, made or 0, cache, thought or 0, count(usage.get("totalTokens")))
    given, made = (given or 0) + beside_input, (made or 0) + beside_output
    return TokenUsage(
        input_tokens=given,
        output_tokens=made,
        total_tokens=given + made,
        reasoning_tokens=thought,
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
    )


def _beside(given: int, made: int, cache: int, thought: int, total: int | None) -> tuple[int, int]:
    """What must be added to input and output. Where two sums make the total, the cache is the likelier one."""
    for extra in ((0, 0), (cache, 0), (0, thought), (cache, thought)):
        if given + made + sum(extra) == total:
            return extra
    return (cache if cache > given else 0), (thought if thought > made else 0)


def _quota(told: dict[str, Any]) -> TokenUsage | None:
    """gemini-cli's, in `_meta`."""
    given, made = count(told.get("input_tokens")), count(told.get("output_tokens"))
    if given is None or made is None:
        return None
    return TokenUsage(input_tokens=given, output_tokens=made, total_tokens=given + made)
