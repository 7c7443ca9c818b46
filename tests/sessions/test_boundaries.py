"""Where a conversation may be cut, by hand and for any conversation."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.boundaries import Said, before_newest_turn, by_budget

U, A = "user", "assistant"
ROLES = st.sampled_from([U, U, A, "tool", "system"])
IDS = st.sampled_from(["a", "b", "c"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Said]:
    said, seq = [], draw(st.integers(1, 5))
    for role in draw(st.lists(ROLES, max_size=20)):
        calls = tuple(draw(st.lists(IDS, max_size=2, unique=True))) if role == A else ()
        said.append(Said(seq, role, draw(st.integers(0, 9)), calls, draw(IDS) if role == "tool" else ""))
        seq += draw(st.integers(1, 3))
    return said


def legal(said: list[Said], boundary: int) -> None:
    """By the rules alone: a user message comes next, and no result answers a call from before."""
    before = [one for one in said if one.seq <= boundary]
    after = [one for one in said if one.seq > boundary]
    assert before
    assert after[0].role == U
    for place, one in enumerate(said):
        if one.answers and one in after:
            callers = [other for other in said[:place] if one.answers in other.calls]
            assert not callers or callers[-1] in after


@given(conversations())
@settings(max_examples=300)
def test_what_is_left_begins_with_a_user_and_no_call_loses_its_result(said: list[Said]) -> None:
    boundary = before_newest_turn(said)
    if boundary is not None:
        legal(said, boundary)
        assert boundary < max(one.seq for one in said if one.role == U)


@given(conversations(), st.integers(0, 60))
@settings(max_examples=300)
def test_by_budget_as_little_as_leaves_half_of_it(said: list[Said], budget: int) -> None:
    boundary = by_budget(said, budget)
    total = sum(one.tokens for one in said)
    if total <= budget:
        assert boundary is None
    elif boundary is not None:
        legal(said, boundary)
        earlier = by_cutting(said, boundary)
        left = sum(one.tokens for one in said if one.seq > boundary)
        # One that would leave enough by condensing less does not exist, unless none leaves little enough.
        assert all(rest > budget // 2 for rest in earlier)
        assert left <= budget // 2 or boundary == before_newest_turn(said)


def by_cutting(said: list[Said], boundary: int) -> list[int]:
    """What each legal boundary before this one would leave."""
    found = []
    for one in said:
        cut = one.seq - 1
        if one.role == U and one is not said[0] and cut < boundary:
            try:
                legal(said, cut)
            except AssertionError:
                continue
            found.append(sum(other.tokens for other in said if other.seq > cut))
    return found


def test_the_newest_turn_stays_and_what_stands_before_it_goes() -> None:
    # 3 is an error or a decision, which the rows of messages do not show.
    said = [Said(1, U, 5), Said(2, A, 5), Said(4, U, 5), Said(5, A, 5)]
    assert before_newest_turn(said) == 3
    assert before_newest_turn(said[2:]) is None
    assert before_newest_turn([]) is None
    assert before_newest_turn([Said(1, A, 5), Said(2, A, 5)]) is None


def test_one_turn_that_is_over_the_budget_cannot_be_condensed() -> None:
    assert by_budget([Said(1, U, 500), Said(2, A, 500)], 100) is None
