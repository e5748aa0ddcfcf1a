"""What answers say of probabilities: the contract's formulas (4.2), with numbers worked out by hand."""

from decision_server.expectations import choice_confidence, expectation, most_probable, score_confidence


def test_the_expectation_weighs_each_level_by_its_probability() -> None:
    assert expectation([0.25, 0.25, 0.5]) == 1.25
    assert expectation([0.0, 0.0, 1.0]) == 2.0


def test_a_choice_is_certain_at_one_and_worthless_where_all_are_equal() -> None:
    assert choice_confidence([1.0, 0.0, 0.0]) == 1.0
    assert choice_confidence([1 / 3, 1 / 3, 1 / 3]) == 0.0
    assert choice_confidence([0.75, 0.25]) == 0.5
    assert choice_confidence([0.5, 0.25, 0.25, 0.0]) == (0.5 - 0.25) / 0.75


def test_a_score_loses_confidence_by_how_far_probability_lies_from_the_mode() -> None:
    assert score_confidence([0.0, 1.0, 0.0]) == 1.0
    assert score_confidence([0.5, 0.5]) == 0.0  # a spread of 0.5, and D is 0.5 for two levels
    assert score_confidence([0.75, 0.25, 0.0]) == 1 - 0.25 / (2 / 3)
    assert score_confidence([0.5, 0.0, 0.5]) == 0.0  # a spread of 1, more than D: never below 0


def test_of_equal_probabilities_the_first_is_the_choice() -> None:
    assert most_probable([0.25, 0.375, 0.375]) == 1
