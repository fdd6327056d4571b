"""References in reStructuredText."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.reference import DEFINITION, KINDS
from git_kb.text.links import MAX_TARGET, find_references

PIECES = [
    "a", " ", "\n", "\n\n", "\n   ", "`", "``", "_", "__", "`t <u.rst>`_", "`n`_", "n_", ":doc:`d`", ":ref:`t <l>`", ".. _n: u.rst\n",
    "\n.. _n:\n", ".. __: u\n", "::\n\n  ", ".. code::\n\n   ", ".. x\n", "https://e.org/x", ").", "<", ">", "\\", "é", "\u2028", "\0", "\t",
]  # fmt: skip


def found(text, mime="text/x-rst"):
    return [(r.kind, r.target) for r in find_references(mime, text)]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_gives_sound_references(text):
    for mime in ("text/x-rst", "text/plain", "text/asciidoc"):
        references = find_references(mime, text)
        assert [r.start for r in references] == sorted(r.start for r in references)
        for r in references:
            assert r.kind in KINDS
            assert 0 <= r.start < r.end <= len(text)
            assert r.line == text.count("\n", 0, r.start)
            assert 0 < len(r.target) <= MAX_TARGET
            assert "\n" not in r.target
            assert ("\t" in r.target) == (r.kind == DEFINITION)


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("see `the text <a/b.rst>`__.", [("rst", "a/b.rst")]),
        ("see `The\nText <a\n b.rst>`_.", [("definition", "the text\tab.rst"), ("rst", "ab.rst")]),
        ("`x <Named One_>`_", [("name", "named one")]),
        ("`Named  One`_ and name_, (a.b-c_)", [("name", "named one"), ("name", "name"), ("name", "a.b-c")]),
        (":doc:`/a/b` :doc:`x <c>` :std:doc:`d`", [("doc", "/a/b"), ("doc", "c"), ("doc", "d")]),
        (":ref:`Some Label` :ref:`x <l-1>` :ref:`!no` :func:`f`", [("ref", "some label"), ("ref", "l-1")]),
        (".. _A b: c.rst#d\n", [("definition", "a b\tc.rst#d")]),
        (".. _`a: b`: c.rst\n", [("definition", "a: b\tc.rst")]),
        (".. _a_b:\n   https://e.org/x\n", [("definition", "a_b\thttps://e.org/x")]),
        (".. __: c.rst\n\n__ d.rst\n", [("rst", "c.rst"), ("rst", "d.rst")]),
        (".. _here:\n\ntext\n\n.. _next:\n\n.. _after:\n\n", [("target", "here"), ("before", "next"), ("before", "after")]),
        (".. note:: `a <b.rst>`__\n\n   `c <d.rst>`__\n", [("rst", "b.rst"), ("rst", "d.rst")]),
        ("(https://e.org/a_(b)), https://e.org/c.", [("autolink", "https://e.org/a_(b)"), ("autolink", "https://e.org/c")]),
        ("text::\n\n  `a <b>`_\n\nend_", [("name", "end")]),
    ],
)
def test_each_kind(text, references):
    assert found(text) == references


@pytest.mark.parametrize(
    "text",
    [
        "``a_ `b <c>`_``",
        "\\`a <b>`",
        ".. code-block:: rst\n\n   `a <b>`__\n\n   https://e.org",
        ".. a comment\n   `a <b>`__ :doc:`c`",
        "Like this::\n\n   `a <b>`__\n",
        ">>> a_ = `b <c>`__",
        "a__b _c d_e `f` :math:`g_` __init__",
        "`mail <mailto:a@b.c>`__",
        ".. _a: b_",
    ],
)
def test_what_is_no_reference(text):
    assert found(text) == []


def test_urls_of_other_prose():
    assert found("see <https://e.org/a>, x", "text/plain") == [("autolink", "https://e.org/a")]
    assert found("https://e.org/a[text]", "text/asciidoc") == [("autolink", "https://e.org/a")]
    assert found("xhttps://e.org", "text/plain") == []


@pytest.mark.parametrize(
    "piece",
    ["`", "``", "a_", "a.", ":a:", ":a", "`a <", ".. _", ".. _a:\n", ".. _a:b\n", "\\", "::\n", "https://", "xhttps://", "https://)", "_", "<", ">`_", "a`b`_", ".. |"],
)  # fmt: skip
@pytest.mark.parametrize("mime", ["text/x-rst", "text/plain"])
def test_hostile_text_takes_time_in_proportion(piece, mime):
    start = process_time()
    find_references(mime, piece * (300_000 // len(piece)))
    assert process_time() - start < 5
