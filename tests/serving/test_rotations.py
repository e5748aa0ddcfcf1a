"""Orders of listing: bounded, rotations of one another, the same for a request whose options stand rotated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from decision_server import rotations

TEXTS = st.lists(st.text(max_size=3), min_size=2, max_size=30)


@given(texts=TEXTS)
def test_every_order_is_a_rotation_that_holds_each_option_once(texts: list[str]) -> None:
    count = len(texts)
    for order in rotations.orders(texts):
        assert order == tuple((order[0] + place) % count for place in range(count))


@given(count=st.integers(2, 255))
def test_up_to_eight_options_stand_in_every_place_and_more_ask_for_eight_evenly_spaced_orders(count: int) -> None:
    orders = rotations.orders([f"{index:03}" for index in range(count)])
    firsts = [order[0] for order in orders]
    assert len(set(firsts)) == len(orders) == min(count, 8)
    gaps = [later - earlier for earlier, later in zip(firsts, [*firsts[1:], count], strict=True)]
    assert max(gaps) - min(gaps) <= 1


@given(texts=st.lists(st.text(max_size=3), min_size=2, max_size=30, unique=True), turn=st.integers(0, 29))
def test_options_that_stand_rotated_are_listed_in_the_very_same_orders(texts: list[str], turn: int) -> None:
    turned = texts[turn % len(texts) :] + texts[: turn % len(texts)]

    def listed(options: list[str]) -> list[list[str]]:
        return [[options[index] for index in order] for order in rotations.orders(options)]

    assert listed(texts) == listed(turned)
