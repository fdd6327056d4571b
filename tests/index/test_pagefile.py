"""Where an id belongs among ids."""

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from git_kb.index.pagefile import place_of_id

spread = st.binary(min_size=24, max_size=24)
# Ids that were chosen, not hashed: they share beginnings, differ behind the eighth byte, or lie at one end.
crowded = st.builds(
    lambda head, tail: (head * 24)[:16] + tail, st.sampled_from([b"\0", b"\1", b"\xff"]), st.binary(min_size=8, max_size=8)
)


@given(st.lists(spread | crowded, max_size=300, unique=True), st.binary(max_size=25))
def test_as_bisection(ids, other):
    ids.sort()
    for wanted in (*ids, *(id_[:16] for id_ in ids), *(id_ + b"\0" for id_ in ids), other):
        assert place_of_id(len(ids), ids.__getitem__, wanted) == bisect_left(ids, wanted)


@given(st.lists(spread, min_size=1, max_size=300), spread)
def test_ids_in_no_order_end_somewhere(ids, wanted):
    assert 0 <= place_of_id(len(ids), ids.__getitem__, wanted) <= len(ids)
