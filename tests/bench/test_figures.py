"""The statistics of the rounds."""

import pytest

from holdfast.bench.figures import Figures, percentile, rounded
from holdfast.bench.rounds import Arm, take_turns


def test_an_arm_is_told_by_its_median_and_its_range():
    figures = Figures.of([30.0, 10.0, 20.0])
    assert figures.as_json() == {"rounds": [30.0, 10.0, 20.0], "median": 20.0, "min": 10.0, "max": 30.0}


def test_the_median_of_an_even_number_of_rounds_lies_between_two():
    assert Figures.of([1.0, 2.0, 3.0, 10.0]).median == 2.5


def test_a_ratio_is_taken_round_by_round():
    # both arms ran at half speed in the second round: the ratio does not see it
    ours, theirs = Figures.of([600.0, 300.0, 660.0]), Figures.of([200.0, 100.0, 200.0])
    ratio = ours.over(theirs)
    assert ratio.rounds == pytest.approx((3.0, 3.0, 3.3))
    assert ratio.median == pytest.approx(3.0)


def test_a_round_in_which_the_other_arm_did_nothing_has_no_ratio():
    assert Figures.of([4.0, 6.0]).over(Figures.of([0.0, 2.0])).rounds == (3.0,)


def test_no_rounds_are_no_figures():
    with pytest.raises(ValueError, match="no rounds"):
        Figures.of([])


@pytest.mark.parametrize(("percent", "value"), [(1, 1), (50, 50), (95, 95), (99.5, 100), (100, 100)])
def test_a_percentile_is_the_value_of_its_rank(percent, value):
    assert percentile(range(100, 0, -1), percent) == value


def test_the_percentile_of_one_value_is_that_value_and_of_none_it_is_zero():
    assert percentile([7.0], 50) == 7.0
    assert percentile([], 50) == 0.0


def test_figures_have_four_digits():
    assert (rounded(1234.56), rounded(0.0123456), rounded(0.0)) == (1235.0, 0.01235, 0.0)


def test_arms_take_turns_forth_and_back():
    ran: list[str] = []
    arms = [Arm(name, lambda name=name: float(len(ran.append(name) or ran))) for name in "AB"]
    figures = take_turns(arms, 3, "holds/s")
    assert "".join(ran) == "ABBAAB"
    assert figures["A"].rounds == (1.0, 4.0, 5.0)
