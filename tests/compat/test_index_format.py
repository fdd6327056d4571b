"""A reader of segments written from docs/format-index.md alone: what it reads is what the package says."""

import struct
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.segment import Segment

PAGE = 4096


def read_container(data):
    magic, format_, _feature, page_size, n_areas, size, table = struct.unpack_from("<8sIIIIQQ", data)
    assert (magic, format_, page_size, size) == (b"GITKBSEG", 3, PAGE, len(data))
    assert struct.unpack_from("<Q", data, 56)[0] == xxh3_64_intdigest(data[:56] + data[64 : 64 + 32 * n_areas])
    for page in range(table // PAGE):
        assert struct.unpack_from("<Q", data, table + 8 * page)[0] == xxh3_64_intdigest(data[page * PAGE : (page + 1) * PAGE])
    areas = {}
    for n in range(n_areas):
        name, offset, length = struct.unpack_from("<16sQQ", data, 64 + 32 * n)
        areas[name.rstrip(b"\0").decode()] = data[offset : offset + length]
    return areas


def read_tree(area):
    """Yield (key, value), leaf by leaf: the leftmost one is page 0's leaf or below the root's first cells."""
    pages = [area[at : at + PAGE] for at in range(0, len(area), PAGE)]
    number = len(pages) - 1
    while pages and pages[number][0] == 2:
        (cell,) = struct.unpack_from("<H", pages[number], 8)
        (number,) = struct.unpack_from("<I", pages[number], cell + 2)
    while pages and number != 0xFFFFFFFF:
        kind, _, n, following = struct.unpack_from("<BBHI", pages[number])
        assert kind == 1
        for cell in struct.unpack_from(f"<{n}H", pages[number], 8):
            key, value = struct.unpack_from("<HH", pages[number], cell)
            start = cell + 4
            yield pages[number][start : start + key], pages[number][start + key : start + key + value]
        number = following


def varints(data):
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number, shift = 0, 0
    return numbers


def read_postings(n, value, area):
    """Return (code point, [(ordinal, impact)])."""
    code, df, *rest = varints(value)
    if df == 1:
        return code, [tuple(rest)]
    at = rest[0]
    blocks = -(-n // 256)
    if 4 * df >= n and n >= 1024:
        return code, [(o, i) for o, i in enumerate(area[at : at + n]) if i]
    if df > 2 * (blocks + 1):
        table = struct.unpack_from(f"<{blocks + 1}H", area, at)
        at += 2 * (blocks + 1)
        lows, impacts = area[at : at + df], area[at + df : at + 2 * df]
        return code, [(b * 256 + lows[p], impacts[p]) for b in range(blocks) for p in range(table[b], table[b + 1])]
    ordinals = struct.unpack_from(f"<{df}H", area, at)
    return code, list(zip(ordinals, area[at + 2 * df : at + 3 * df], strict=True))


WORDS = ["bee", "ant", "wasp", "moth", "fly", "gnat"]
CONTENT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@given(st.lists(st.tuples(CONTENT, st.sampled_from(["", "One", "Two wasps"])), min_size=1, max_size=30), st.sampled_from([0, 1200]))
@settings(max_examples=20, deadline=None)
def test_a_stranger_reads_a_segment(texts, n_more):
    """With enough entries for lists of every kind."""
    import hashlib

    texts += [(f"{WORDS[n % 2]} number{n % 300} {'wasp' if n % 9 == 0 else ''}", "") for n in range(n_more)]
    entries = {}
    for content, heading in texts:
        id_ = entry_id(hashlib.sha256(content.encode()).digest()[:16], heading)
        entries[id_] = Entry(id_, "text/plain", heading, content)
    (data,) = build_segments(entries[id_] for id_ in sorted(entries))
    data = bytes(data)
    segment = Segment.over(data)
    areas = read_container(data)
    n_entries, n_terms = struct.unpack_from("<II", areas["stats"])
    assert (n_entries, n_terms) == (len(entries), segment.n_terms)
    assert [areas["entries"][at : at + 24] for at in range(0, 24 * n_entries, 24)] == sorted(entries)
    lengths = struct.unpack(f"<{3 * n_entries}H", areas["lengths"])
    ends = (0, *struct.unpack(f"<{n_entries}I", areas["tokenends"]))
    strings = [areas["tokens"][a:b].decode().split("\1") for a, b in pairwise(ends)]
    for ordinal, fields in enumerate(strings):
        assert [len(f) for f in fields] == [lengths[f * n_entries + ordinal] for f in range(3)]
    terms = {}
    for key, value in read_tree(areas["terms"]):
        code, postings = read_postings(n_entries, value, areas["postings"])
        assert [o for o, _ in postings] == [o for o, fields in enumerate(strings) if any(chr(code) in f for f in fields)]
        found = segment.postings(key.decode())
        assert postings == [(o, found.impact(o)) for o in found.ordinals]
        terms[key.decode()] = code
    assert list(terms) == [term for term, _, _ in segment.all_terms()]
    assert len(terms) == n_terms
