"""reStructuredText titles agree with docutils."""

import pytest
from docutils import frontend, nodes, utils
from docutils.parsers.rst import Parser
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from git_kb.text.plain import Limits, is_blank
from git_kb.text.rst import cut_rst, plain_title, scan_titles


def oracle(text):
    """(level, text) of each section, and what docutils has to say."""
    settings = frontend.get_default_settings(Parser)
    settings.report_level, settings.halt_level, settings.warning_stream = 1, 6, False
    settings.file_insertion_enabled = settings.raw_enabled = False
    document = utils.new_document("x", settings)
    Parser().parse(text, document)
    found = []

    def walk(node, level):
        for child in node.children:
            if isinstance(child, nodes.section):
                found.append((level, " ".join(child.next_node(nodes.title).astext().split())))
                walk(child, level + 1)

    walk(document, 1)
    return found, [m.astext() for m in document.findall(nodes.system_message)]


def ours(text):
    return [(t.level, plain_title(t.text)) for t in scan_titles(text)]


LINES = [
    "Title", "a", "long title here", "====", "----", "=====", "==", "-", "---------------", "~~~", "***", "", "", " ",
    "   indented", "  a", ".. note::", "..", ".. _x:", ".. comment", "- item", "* i", "1. one", "2. two", "a. x", "(1) y",
    "#. z", ":f: v", "::", "foo::", "> q", "| line", "+---+", "+---+---+", "=== ===", "=====  =====", "a    b", ">>> x",
    "__ t", "____", "中文标题", "========", "A. B", "-a foo", "--opt=x  y", "..x", "''''", "i. x", "/x", "-a",
]  # fmt: skip


@settings(max_examples=250)
@given(st.lists(st.sampled_from(LINES), max_size=7).map("\n".join))
@example("=====\n Over\n=====\n\nSub\n---\n")
@example("-a foo\n=====")
@example("1. one\ni. x\n---------------")
@example("foo::\n\n> a\n> ---\n\nTitle\n=====")
def test_titles_equal_those_of_docutils(text):
    want, messages = oracle(text)
    # Where docutils drops a title for its level, or the rest of the document for a table without an end, we go on.
    assume(not any("nconsistent" in m or "No bottom" in m for m in messages))
    assert ours(text) == want


TEXT = """.. _label:

=====
Title
=====

Intro::

    Not
    ===

Sub `a <b>`_
------------

.. code:: python

   No
   --

Deep
~~~~
text

----

Sub ``x``
---------
"""


def test_sections():
    cut = cut_rst(TEXT, Limits())
    assert cut.title == "Title"
    assert [(TEXT[p.start :].split("\n")[0], p.heading) for p in cut.pieces] == [
        (".. _label:", ()),
        ("=====", ("Title",)),
        ("Sub `a <b>`_", ("Title", "Sub a")),
        ("Deep", ("Title", "Sub a", "Deep")),
        ("Sub ``x``", ("Title", "Sub x")),
    ]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (":ref:`Text <target>` and `link`_", "Text and link"),
        ("*a* **b** ``c d`` |e| f_ \\*g", "a b c d e f *g"),
        ("__init__.py and snake_case_name", "__init__.py and snake_case_name"),
        ("2 * 3 * 4", "2 * 3 * 4"),
    ],
)
def test_plain_title(raw, text):
    assert plain_title(raw) == text


@given(st.lists(st.sampled_from([*LINES, "x\r", "\u3000", "\ufeff"]), max_size=12).map("\n".join), st.integers(8, 60))
def test_pieces_tile(text, target):
    pieces = cut_rst(text, Limits(target, 2 * target)).pieces
    assert "".join(text[p.start : p.end] for p in pieces) == text
    if not is_blank(text, 0, len(text)):
        assert not any(is_blank(text, p.start, p.end) for p in pieces)
