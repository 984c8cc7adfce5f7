"""Tokens × a model's prices → US dollars, exactly.

In: counts by AG-UI's accounting, and the `price` of a model. Out: the sum and its parts as decimals. Where a price is
not known the sum is 0, and the answer says so: a sum without that part would look like the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from gateway.catalog.models.definition import Price
from gateway.errors import BadInput

EXACT = Context(prec=200)
"""Digits enough for any count that fits into JSON times any price that somebody would write down."""
MILLION = 6
"""Prices are for ten to the power of this many tokens."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Totals include their parts, as AG-UI counts them."""

    input: int = 0
    cached_input: int = 0
    """Those of `input` that were read from a cache."""
    output: int = 0
    thinking: int = 0
    """Those of `output` that were thoughts."""

    def __post_init__(self) -> None:
        for part, count, whole, total in (
            ("cachedInputTokens", self.cached_input, "inputTokens", self.input),
            ("thinkingTokens", self.thinking, "outputTokens", self.output),
        ):
            if count > total:
                detail = f"{part} are among {whole}: {count} of {total} cannot be"
                raise BadInput(detail, pointer=f"?{part}")


@dataclass(frozen=True, slots=True)
class Cost:
    usd: Decimal
    """0 where a price is missing."""
    parts: Mapping[str, Decimal]
    """What each kind of token costs, where that is known."""
    missing: tuple[str, ...] = ()
    """Kinds of tokens that were used and have no known price."""

    @property
    def priced(self) -> bool:
        return not self.missing

    def json(self) -> dict[str, Any]:
        """Decimals as strings, which lose nothing; the sum also as a number."""
        return {
            "cost": float(self.usd),
            "usd": plain(self.usd),
            "currency": "USD",
            "parts": {kind: plain(amount) for kind, amount in self.parts.items()},
            "priced": self.priced,
            "missing": list(self.missing),
        }


def cost(price: Price, tokens: Tokens) -> Cost:
    """A kind of token that was not used needs no price."""
    kinds = {
        "input": (tokens.input - tokens.cached_input, price.input),
        "cachedInput": (tokens.cached_input, price.input if price.cached_input is None else price.cached_input),
        "output": (tokens.output - tokens.thinking, price.output),
        "thinking": (tokens.thinking, price.output if price.thinking is None else price.thinking),
    }
    parts = {kind: _times(count, each) for kind, (count, each) in kinds.items() if each is not None}
    missing = tuple(kind for kind, (count, each) in kinds.items() if count and each is None)
    usd = Decimal(0)
    for amount in parts.values() if not missing else ():
        usd = EXACT.add(usd, amount)
    return Cost(usd, parts, missing)


def _times(count: int, price: Decimal) -> Decimal:
    return EXACT.scaleb(EXACT.multiply(Decimal(count), price), -MILLION)


def plain(amount: Decimal) -> str:
    """`0.015`: neither an exponent nor zeros at the end."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
