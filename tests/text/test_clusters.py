"""Clusters of Thai, Lao, Khmer and Burmese."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.clusters import clusters
from git_kb.text.words import terms, word_terms

LETTERS = "กขนมภษยาเแไิุ้์ำะກນາໄິີ້កខរាសំ្ុែမနဘသအာ်္ိုး日本"
runs = st.text(LETTERS, min_size=1, max_size=12)


@given(runs)
def test_clusters_joined_are_the_run(run):
    found = clusters(run)
    assert "".join(found) == run
    assert all(found)


@given(runs)
def test_terms_are_the_clusters_and_their_pairs(run):
    found = clusters(run)
    assert word_terms(run)[::2] == found
    assert word_terms(run)[1::2] == [a + b for a, b in pairwise(found)]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("ภาษาไทย", ["ภา", "ษา", "ไท", "ย"]),
        ("น้ำ", ["น้ำ"]),
        ("เด็ก", ["เด็", "ก"]),
        ("ພາສາລາວ", ["ພາ", "ສາ", "ລາ", "ວ"]),
        ("ខ្មែរ", ["ខ្មែ", "រ"]),
        ("မြန်မာ", ["မြန်", "မာ"]),
    ],
)
def test_known_clusters(run, expected):
    assert clusters(run) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("เด็กดื่มน้ำทุกวัน", "น้ำ"),
        ("รังผึ้งตั้งอยู่บนพื้นราบ", "ผึ้ง"),
        ("သူသည် မြန်မာဘာသာစကားကို ပြောသည်", "ဘာသာ"),
        ("គាត់និយាយភាសាខ្មែរបានល្អ", "ភាសា"),
        ("ຂ້ອຍເວົ້າພາສາລາວໄດ້", "ພາສາ"),
    ],
)
def test_a_word_is_found_in_running_text(text, word):
    there, wanted = terms(text), terms(word)
    assert any(there[i : i + len(wanted)] == wanted for i in range(len(there)))
