"""A cut on the probability that an answer states is the cut that a real server applies, to the last bit."""

from __future__ import annotations

import math

from client.decisions import Answer, DecisionClient, Noul
from tests.serving.server import Server

STATES = tuple(f"The customer wrote {number} times and wants the money back." for number in range(40))


def test_a_noul_is_automated_at_its_own_probability_and_abstained_one_step_above(tiny_server: Server) -> None:
    with DecisionClient.http(f"http://127.0.0.1:{tiny_server.port}") as client:

        def ask(state: str, below: float | None) -> Answer:
            question = Noul(instructions="A refund?", true="It is so, and the words say it.", false="No.",
                            abstain_below=below)  # fmt: skip
            return client.ask(state, {"refund": question}, readout="likelihood")["refund"]

        tops = []
        for state in STATES:
            answer = ask(state, None)
            tops.append(answer.top)
            top = max(answer.probabilities)
            assert ask(state, top).abstained is False, state
            assert ask(state, math.nextafter(top, 1.0)).abstained is True, state
    assert set(tops) == {"yes", "no"}  # of no the server sends the complement alone
