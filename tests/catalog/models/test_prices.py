"""What tokens cost: exactly, and never more than is known."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.models.definition import Price
from gateway.catalog.models.prices import Tokens, calculate_cost, format_amount
from gateway.errors import BadInput
from tests.agui.streams import steady

COUNTS = st.integers(0, 2**53)
AMOUNTS = st.decimals(0, 10_000, allow_nan=False, allow_infinity=False, places=8)
PRICES = st.builds(Price, input=AMOUNTS, cached_input=AMOUNTS, output=AMOUNTS, thinking=AMOUNTS)
SOME_PRICES = st.builds(
    Price,
    input=AMOUNTS | st.none(),
    cached_input=AMOUNTS | st.none(),
    output=AMOUNTS | st.none(),
    thinking=AMOUNTS | st.none(),
)


@st.composite
def tokens(draw: st.DrawFn) -> Tokens:
    input, output = draw(COUNTS), draw(COUNTS)
    return Tokens(input, draw(st.integers(0, input)), output, draw(st.integers(0, output)))


def both(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(
        one.input + other.input,
        one.cached_input + other.cached_input,
        one.output + other.output,
        one.thinking + other.thinking,
    )


def exactly(price: Price, used: Tokens) -> Fraction:
    """By fractions, which lose nothing."""
    cached = price.input if price.cached_input is None else price.cached_input
    thinking = price.output if price.thinking is None else price.thinking
    counted = [
        (used.input - used.cached_input, price.input),
        (used.cached_input, cached),
        (used.output - used.thinking, price.output),
        (used.thinking, thinking),
    ]
    return sum((count * Fraction(each or 0) for count, each in counted), Fraction()) / 1_000_000


@steady
@given(PRICES, tokens())
def test_a_cost_is_exact(price: Price, used: Tokens) -> None:
    found = calculate_cost(price, used)
    assert found.is_priced
    assert Fraction(found.usd) == exactly(price, used)
    assert sum(map(Fraction, found.parts.values())) == Fraction(found.usd)


@steady
@given(PRICES, tokens(), tokens())
def test_two_runs_cost_what_they_cost_together(price: Price, one: Tokens, other: Tokens) -> None:
    apart = Fraction(calculate_cost(price, one).usd) + Fraction(calculate_cost(price, other).usd)
    assert Fraction(calculate_cost(price, both(one, other)).usd) == apart


@steady
@given(SOME_PRICES, tokens())
def test_what_has_no_price_is_named_and_the_sum_is_nothing(price: Price, used: Tokens) -> None:
    found = calculate_cost(price, used)
    assert found.is_priced is not bool(found.missing)
    if found.missing:
        assert found.usd == 0
        assert not set(found.missing) & set(found.parts)
    else:
        assert Fraction(found.usd) == exactly(price, used)


@steady
@given(SOME_PRICES, tokens())
def test_the_text_of_a_cost_is_the_cost(price: Price, used: Tokens) -> None:
    found = calculate_cost(price, used)
    result = found.to_json()
    assert Decimal(result["usd"]) == found.usd
    assert "E" not in result["usd"]
    assert result["cost"] == float(found.usd)


def test_a_known_example() -> None:
    price = Price(input=Decimal("3"), cached_input=Decimal("0.30"), output=Decimal("15"))
    assert calculate_cost(price, Tokens(1_000_000, 400_000, 10_000, 4_000)).to_json() == {
        "cost": 2.07,
        "usd": "2.07",
        "currency": "USD",
        "parts": {"input": "1.8", "cachedInput": "0.12", "output": "0.09", "thinking": "0.06"},
        "priced": True,
        "missing": [],
    }


def test_cached_tokens_cost_as_others_where_no_price_says_otherwise_and_thoughts_as_output() -> None:
    price = Price(input=Decimal("2"), output=Decimal("8"))
    assert (
        calculate_cost(price, Tokens(10, 10, 10, 10)).usd
        == calculate_cost(price, Tokens(10, 0, 10, 0)).usd
        == Decimal("0.0001")
    )


def test_a_model_without_a_price_costs_nothing_and_reports_it() -> None:
    result = calculate_cost(Price(), Tokens(5, 1, 7, 2)).to_json()
    assert (result["cost"], result["usd"], result["priced"]) == (0.0, "0", False)
    assert result["missing"] == ["input", "cachedInput", "output", "thinking"]


def test_what_was_not_used_needs_no_price() -> None:
    found = calculate_cost(Price(input=Decimal("1")), Tokens(1_000_000))
    assert (found.usd, found.is_priced, found.missing) == (Decimal(1), True, ())
    assert calculate_cost(Price(), Tokens()).is_priced


@pytest.mark.parametrize(
    ("counts", "pointer"), [((1, 2, 0, 0), "?cachedInputTokens"), ((0, 0, 1, 2), "?thinkingTokens")]
)
def test_a_part_is_not_more_than_the_whole(counts: tuple[int, int, int, int], pointer: str) -> None:
    with pytest.raises(BadInput) as refused:
        Tokens(*counts)
    assert refused.value.problem()["pointer"] == pointer


@pytest.mark.parametrize(
    ("amount", "text"), [("1E+3", "1000"), ("1E-9", "0.000000001"), ("2.500", "2.5"), ("100", "100"), ("0.00", "0")]
)
def test_a_decimal_is_written_plainly(amount: str, text: str) -> None:
    assert format_amount(Decimal(amount)) == text
