"""MinHash signatures of term sets, and their bands. docs/format-references.md, "Signatures"."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from sys import byteorder

from mmh3 import hash as murmur
from mmh3 import hash64

N_BANDS, N_ROWS = 8, 5
N_BINS = N_BANDS * N_ROWS
# Of similar sets at least so many bins agree: at 0.85, 34 are expected, and fewer than 27 have a probability of 0.2 %.
MIN_AGREEING = 27
# What is a near-duplicate: Jaccard similarity of the term sets.
THRESHOLD = 0.85
TERM_SEED, ORDER_SEED, SET_SEED = 1, 2, 4


def term_hash(term: bytes) -> int:
    """Return the hash of a term (UTF-8), from 1 to 2^30 - 1: what fits in one digit of a Python integer sorts twice as fast."""
    return murmur(term, TERM_SEED, signed=False) >> 2 or 1


def _order(of: int) -> list[int]:
    """Return the bins in the order in which bin `of` borrows from them, itself first."""
    others = [other for other in range(N_BINS) if other != of]
    return [of, *sorted(others, key=lambda other: (murmur(bytes((of, other)), ORDER_SEED, signed=False), other))]


_NUMBERED = [(of, _order(of)) for of in range(N_BINS)]
_bin_of = N_BINS.__rmod__
_LOW, _HIGH = (int.from_bytes(bytes((byte,)) * N_BINS) for byte in (0x7F, 0x80))


def signature(hashes: Sequence[int]) -> bytes:
    """Return a byte of the value of each bin, given the hashes of one set in descending order; at least one.

    Which bin it is decides over the lowest three bits of a hash, so the eight from bit 8 on are taken.
    """
    # Of the hashes in a bin the last one stays, which is the smallest.
    get = dict(zip(map(_bin_of, hashes), hashes)).get  # noqa: B905 - one list twice, and this runs a hundred thousand times
    # No hash is 0, so the first that is true is the one to borrow.
    return bytes([(get(n) or next(filter(None, map(get, order)))) >> 8 & 0xFF for n, order in _NUMBERED])


def n_differing(a: int, b: int) -> int:
    """Return in how many bins two signatures, read as numbers, differ: a few operations on long integers."""
    x = a ^ b
    # A byte that is not 0 has its high bit set, or gets it from the sum.
    return (((x & _LOW) + _LOW | x) & _HIGH).bit_count()


def set_key(hashes: Sequence[int]) -> int:
    """Return 64 bits that stand for a whole set, given its hashes in descending order."""
    key: int = hash64(_packed(hashes), SET_SEED, x64arch=True, signed=False)[0]
    return key


def candidate_probability(similarity: float) -> float:
    """Return how probable it is that two sets of this similarity share a band. Mining of Massive Datasets, section 3.4."""
    return 1.0 - (1.0 - similarity**N_ROWS) ** N_BANDS


def _packed(numbers: Sequence[int]) -> bytes:
    """Return numbers as u32, little-endian on every machine."""
    packed = array("I", numbers)
    if byteorder != "little":
        packed.byteswap()
    return packed.tobytes()
