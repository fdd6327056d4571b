"""Section files: what is put in comes out, whatever else stands there."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.section import TRIMMED, canonical_text
from git_kb.store.cut import Limits, cut_source
from git_kb.text.chunk import chunk_source
from git_kb.text.sectionfile import (
    SEPARATOR,
    Properties,
    cut_section_file,
    given_sections,
    heading_of,
    holds_separator,
    insert_section,
    new_section_file,
    remove_section,
    replace_section,
)

PATH = "kb/raw/stdin/sections/x.md"
LIMITS = Limits(4000, 8000)
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="#-`\n \x1e{}a$\f\x85\u2028"),
    st.sampled_from(
        ["---\na: b\n---\ntext", "+++\na = 1\n+++", '{"a": 1}', "```\nopen", "<!-- open", "[a]: b", "\t\tcode", "x" * 9000]
    ),
)
CONTENTS = TEXTS.map(canonical_text).filter(lambda text: text and not holds_separator(text))
WORDS = st.text(alphabet=string.printable + "äßé\u2028\u202e日", max_size=20).map(lambda t: " ".join(t.split()))
PROPERTIES = st.builds(
    Properties,
    st.lists(WORDS.filter(bool), max_size=3).map(tuple),
    st.sampled_from(["", "text/plain", "text/x-python", "application/json", "image/png"]),
    WORDS,
    st.sampled_from(["", '{"later": [1, {"a": null}]}']),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["insert", "insert", "remove", "replace", "set"]), st.integers(0, 9), CONTENTS, PROPERTIES)
)


def shown(text):
    return [(canonical_text(text[one.body : one.end]), one.properties) for one in given_sections(text)]


@given(WORDS, st.lists(WORDS.filter(bool)), STEPS)
def test_edits_are_those_of_a_list(title, tags, steps):
    text = new_section_file(title, tags)
    model = []
    for what, at, content, properties in steps:
        if what == "insert":
            n = at if at < len(model) else None
            text = insert_section(text, n, content, properties)
            model.insert(len(model) if n is None else n, (content, properties))
        elif model:
            n = at % len(model)
            if what == "remove":
                text = remove_section(text, n)
                del model[n]
            else:
                text = replace_section(text, n, content, properties if what == "set" else None)
                model[n] = (content, properties if what == "set" else model[n][1])
        assert shown(text) == model
    cut = cut_section_file(text)
    assert cut.title == " ".join(title.split())
    sections = [p for p in cut.pieces if not p.role]
    assert [(canonical_text(text[p.start : p.end]), p.type) for p in sections] == [(c, p.type) for c, p in model]
    assert [p.heading for p in sections] == [heading_of(c, p) for c, p in model]


@given(TEXTS, st.lists(st.tuples(CONTENTS, PROPERTIES), max_size=3))
def test_what_was_there_stays(old, new):
    """In a file that somebody wrote by hand."""
    before = shown(old)
    text = old
    for content, properties in new:
        text = insert_section(text, 0 if given_sections(text) else None, content, properties)
    assert shown(text)[len(new) :] == before
    for _ in new:
        text = remove_section(text, 0)
    assert shown(text) == before


@given(st.one_of(TEXTS, st.text(alphabet='\x1e\n\r{}[]":a,- \ufeff')))
def test_any_text_is_tiled(text):
    if not canonical_text(text):
        return  # refused before it is cut
    pieces = cut_section_file(text).pieces
    assert [p.start for p in pieces] == [0, *(p.end for p in pieces[:-1])]
    assert pieces[-1].end == len(text)
    if "\0" not in text:
        data = text.encode()
        assert cut_source(PATH.encode(), data, LIMITS).n_bytes == len(data)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "line 3: the properties of a section are not JSON"),
        ("[1]", "line 3: the properties of a section are no JSON object"),
        ('{"heading": "a"}', "line 3: 'heading' of a section is not an array of strings"),
        ('{"type": "video/mp4"}', "line 3: 'type' of a section is no type of text or images"),
        ('{"type": "text/x y"}', "line 3: 'type' of a section is no type of text or images"),
        ('{"type": 1}', "line 3: 'type' of a section is no type of text or images"),
        ('{"description": []}', "line 3: 'description' of a section is not a string"),
        ("[" * 100_000, "line 3: the properties of a section are not JSON"),
    ],
)
def test_odd_properties_are_told_and_kept(line, why):
    text = f"one\n\n{SEPARATOR}{line}\n\ntwo\n"
    source = chunk_source(PATH, text.encode())
    assert source.warnings == (why,)
    assert [canonical_text(c.text) for c in source.chunks if not c.role] == ["one", "two"]
    assert line in "".join(c.text for c in source.chunks if c.role)


def test_warnings_are_few():
    assert len(chunk_source(PATH, f"{SEPARATOR}x\na\n".encode() * 1000).warnings) == 10


def test_line_ends_of_a_checkout():
    text = insert_section(insert_section(new_section_file("T", []), None, "a\nb", Properties()), None, "c", Properties(("H",)))
    assert shown(text.replace("\n", "\r\n")) == shown(text)


def test_what_is_trimmed_can_divide():
    """The design rests on it: a range with its separator has the content without it."""
    assert SEPARATOR in TRIMMED
    assert canonical_text(f"{SEPARATOR}\n\ntext\n\n") == "text"


def test_properties_are_one_line_that_shows_all():
    text = insert_section("", None, "x", Properties(("a\u202eb\u2028c",), "", 'quote " and \\'))
    line = text.partition("\n")[0]
    assert line[1:].isprintable()
    assert json.loads(line[1:]) == {"heading": ["a\u202eb\u2028c"], "description": 'quote " and \\'}


def test_elsewhere_markdown_is_cut_as_ever():
    data = f"one\n\n{SEPARATOR}\n\ntwo\n".encode()
    assert len(chunk_source("docs/x.md", data).chunks) == 1
    assert len(chunk_source(PATH, data).chunks) == 2
