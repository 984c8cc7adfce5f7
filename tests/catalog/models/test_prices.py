"""What tokens cost: exactly, and never more than is known."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.load import bundled, load_catalog
from gateway.catalog.models.definition import Price, PriceTier
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


# -- agent-mux §4.1 estimateCost: tiers and cache writes

TIERED = Price(
    input=Decimal("1.25"),
    cached_input=Decimal("0.125"),
    output=Decimal("10"),
    tiers=(
        PriceTier(above=400_000, input=Decimal("5")),
        PriceTier(above=200_000, input=Decimal("2.5"), cached_input=Decimal("0.25"), output=Decimal("15")),
    ),
)


@pytest.mark.parametrize(
    ("input_tokens", "usd", "above"),
    [
        (200_000, "0.25", None),
        (200_001, "0.5000025", 200_000),
        (400_000, "1", 200_000),
        (400_001, "2.000005", 400_000),
    ],
)
def test_the_whole_request_has_the_price_of_the_tier_that_its_input_reaches(
    input_tokens: int, usd: str, above: int | None
) -> None:
    found = calculate_cost(TIERED, Tokens(input=input_tokens))
    assert (format_amount(found.usd), found.above, found.is_priced) == (usd, above, True)
    assert ("tier" in found.to_json()) is (above is not None)


def test_a_tier_is_for_output_and_cached_input_too() -> None:
    found = calculate_cost(TIERED, Tokens(input=300_000, cached_input=100_000, output=10_000))
    assert found.parts == {
        "input": Decimal("0.5"),
        "cachedInput": Decimal("0.025"),
        "output": Decimal("0.15"),
        "thinking": Decimal(0),
    }


def test_tokens_written_to_a_cache_have_a_price_of_their_own_or_none() -> None:
    used = Tokens(input=3_000_000, cache_write=1_000_000, cache_write_1h=1_000_000)
    price = Price(input=Decimal(4), output=Decimal(20), cache_write=Decimal(5), cache_write_1h=Decimal(8))
    assert calculate_cost(price, used).usd == 17
    unknown = calculate_cost(Price(input=Decimal(4), output=Decimal(20)), used)
    assert unknown.usd == 0
    assert unknown.missing == ("cacheWrite", "cacheWrite1h")


@pytest.mark.parametrize(
    ("agent", "model", "usd"),
    [
        ("claude", "claude-haiku-5-5", "0.25"),
        ("gemini", "gemini-2.5-pro", "1.25"),
        ("gemini", "gemini-3.1-pro-preview-customtools", "2"),
        ("codex", "gpt-5.5", "5"),
    ],
)
def test_half_a_million_tokens_have_the_price_of_the_long_input(agent: str, model: str, usd: str) -> None:
    definition = load_catalog([bundled()])[agent]
    [found] = [each for each in definition.models if each.id == model]
    assert format_amount(calculate_cost(found.price, Tokens(input=500_000)).usd) == usd
