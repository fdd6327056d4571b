"""Signatures: the same on every machine, independent of order, and good enough to find near-duplicates."""

import random

from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.minhash import (
    N_BINS,
    N_ROWS,
    THRESHOLD,
    candidate_probability,
    n_differing,
    set_key,
    signature,
    term_hash,
)

HIVE, BEE, BACHI, EMPTY = 793913242, 133114377, 781503773, 341019181
FEW = "4848272a2a2a2a4848482a2a482a2a482a2a2727274827482a2a482a48482a2a482727482a2a2a48"
MANY = "9d1b9e64644dff3db555b6d72ef75bb89374eb93c5ea512b78c86d712e86b03d82846b2f44c600cf"
KEYS = (18359286930064348842, 2504530185971573048)

sets = st.sets(st.integers(1, (1 << 30) - 1), min_size=1, max_size=300)


def descending(hashes):
    return sorted(hashes, reverse=True)


def of_words(words):
    return descending({term_hash(w.encode()) for w in words})


def test_the_bytes_are_those_of_the_format_document():
    """Worked out once; a change here is another format."""
    assert [term_hash(t) for t in (b"hive", b"bee", "蜂".encode(), b"")] == [HIVE, BEE, BACHI, EMPTY]
    few, many = of_words(["hive", "bee", "swarm"]), of_words(f"w{n}" for n in range(200))
    assert signature(few).hex() == FEW
    assert signature(many).hex() == MANY
    assert (set_key(few), set_key(many)) == KEYS


@given(sets)
def test_a_signature_holds_the_smallest_of_each_bin_and_borrows_the_rest(hashes):
    values = signature(descending(hashes))
    assert len(values) == N_BINS
    smallest = {b: min(own) >> 8 & 0xFF for b in range(N_BINS) if (own := [h for h in hashes if h % N_BINS == b])}
    assert all(values[b] == smallest[b] if b in smallest else values[b] in smallest.values() for b in range(N_BINS))


@given(sets, st.integers(1, (1 << 30) - 1))
def test_what_another_element_adds_changes_its_own_bin_at_most(hashes, other):
    """Where no bin is empty, an element touches one bin."""
    full = hashes | set(range(1 << 29, (1 << 29) + N_BINS))
    before, after = signature(descending(full)), signature(descending(full | {other}))
    assert [b for b in range(N_BINS) if before[b] != after[b]] in ([], [other % N_BINS])


@given(st.binary(min_size=N_BINS, max_size=N_BINS), st.data())
def test_differing_bins_are_counted(a, data):
    b = bytes(data.draw(st.sampled_from([byte, byte ^ 1, byte ^ 128, 0, 255])) for byte in a)
    expected = sum(x != y for x, y in zip(a, b, strict=True))
    assert n_differing(int.from_bytes(a), int.from_bytes(b)) == expected


def bands(hashes):
    values = signature(hashes)
    return {(at, values[at : at + N_ROWS]) for at in range(0, N_BINS, N_ROWS)}


def test_bands_find_similar_sets_about_as_often_as_the_curve_says():
    rnd = random.Random(1)
    for size in (8, 20, 60, 400):
        for similarity in (0.5, THRESHOLD, 0.95):
            n_shared = round(2 * size * similarity / (1 + similarity))
            n_own = size - n_shared
            real = n_shared / (n_shared + 2 * n_own)
            n_found = 0
            for _ in range(300):
                elements = rnd.sample(range(1 << 30), n_shared + 2 * n_own)
                a = descending(elements[: n_shared + n_own])
                b = descending(elements[:n_shared] + elements[n_shared + n_own :])
                n_found += bool(bands(a) & bands(b))
            # Bins that borrow from one another make few elements a little less even.
            assert abs(n_found / 300 - candidate_probability(real)) < 0.12, (size, similarity)
