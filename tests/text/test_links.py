"""References in a section's text: any text gives sound ones, and Markdown's links are those of markdown-it-py."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from git_kb.model.reference import ANCHOR, DEFINITION, KINDS, LABEL, MARKERS
from git_kb.text.links import MAX_TARGET, find_references

ORACLE = MarkdownIt("commonmark", {"maxNesting": 10_000})
PIECES = [
    "a", "bee", " ", "\n", "\n\n", "\n\n    ", "[", "]", "![", "](u.md)", "](<v w.md>)", "](x.md 't')", "](q_(1).md)", "[[", "]]",
    "[[Page#head|alias]]", "`", "``", "```\n", "\n```\n", "~~~\n", "$(code: abcd)", "$(link:", ")", "(", "<", ">", "<!--", "-->",
    "<https://e.org/x>", "<a href='h.md'>", "<a name=n>", "\n[lab]: d.md\n", "[lab]", "[t][lab]", "\\", "# H {#id}\n", "- ", "> ", "|",
    "&amp;", "é", "蜂", "\u2028", "\0", "\r", "\ud800",
]  # fmt: skip


def targets(text, *kinds, mime="text/markdown"):
    return [r.target for r in find_references(mime, text) if not kinds or r.kind in kinds]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
@example("[a\n\n](u.md)")
@example("`" * 50 + "[a](b.md)")
def test_any_text_gives_sound_references(text):
    for mime in ("text/markdown", "text/plain", "text/html", "text/x-python"):
        found = find_references(mime, text)
        assert [r.start for r in found] == sorted(r.start for r in found)
        for r in found:
            assert r.kind in KINDS
            assert 0 <= r.start < r.end <= len(text)
            assert r.line == text.count("\n", 0, r.start)
            assert 0 < len(r.target) <= MAX_TARGET
            assert r.target.isprintable() or not set(r.target) & set(map(chr, range(9)))
            assert "\n" not in r.target
            assert ("\t" in r.target) == (r.kind == DEFINITION)
        if mime == "text/x-python":
            assert not found


words = st.text("abcxyz ", min_size=1, max_size=8).map(lambda w: " ".join(w.split()) or "w")
names = st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5})?\.md(#[a-z-]{1,6})?", fullmatch=True)
inline = st.one_of(
    words,
    st.builds("[{}]({})".format, words, names),
    st.builds("[{}](<{}>)".format, words, names),
    st.builds('[{}]( {} "t")'.format, words, names),
    st.builds("![{}]({})".format, words, names),
    st.builds("`[{}]({})`".format, words, names),
    st.builds("``[{}]({}) ` ``".format, words, names),
    st.builds("\\[{}]({})".format, words, names),
    st.builds("*[{}]({})*".format, words, names),
    st.builds("[![{}]({})]({})".format, words, names, names),
)
paragraph = st.lists(inline, min_size=1, max_size=4).map(" ".join)
block = st.one_of(
    paragraph,
    paragraph.map("# {}".format),
    paragraph.map("- {}".format),
    paragraph.map("> {}".format),
    paragraph.map("```\n{}\n```".format),
    paragraph.map("~~~~ py\n{}\n```\n~~~~".format),
    paragraph.map("    {}".format),
    paragraph.map("<!-- {} -->".format),
)


@given(st.lists(block, max_size=6).map("\n\n".join))
def test_links_are_those_of_markdown_it(text):
    expected = []
    for token in ORACLE.parse(text):
        for t in token.children or ():
            if t.type == "link_open":
                expected.append(t.attrs["href"])
            if t.type == "image":
                expected.append(t.attrs["src"])
    assert sorted(targets(text, "markdown", "picture")) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("[a](b.md)", "markdown", "b.md"),
        ("[a `]` b](c.md#d)", "markdown", "c.md#d"),
        ("[a\nb](c.md)", "markdown", "c.md"),
        ("> [a\n> b](c.md)", "markdown", "c.md"),
        ("[a](b\\_c.md)", "markdown", "b_c.md"),
        ("[a](b&amp;c.md)", "markdown", "b&c.md"),
        ("[a](x%20y.md)", "markdown", "x%20y.md"),
        ("[a](x_(y_(z)).md)", "markdown", "x_(y_(z)).md"),
        ("![a](b.png)", "picture", "b.png"),
        ("[[Page]]", "wiki", "Page"),
        ("| [[Page\\|alias]] |", "wiki", "Page|alias"),
        ("![[Page#head]]", "wiki", "Page#head"),
        ("<https://e.org/a?b>", "autolink", "https://e.org/a?b"),
        ('x <a class="k" href="b.md#c">y</a>', "html", "b.md#c"),
        ("<img alt='x' src=i.png>", "html", "i.png"),
        ('<a name="here"></a>', "anchor", "here"),
        ("## Title {#short .k}", "anchor", "short"),
        ("[text][A  Label]", "label", "A LABEL"),
        ("[label][]", "label", "LABEL"),
        ("[label]", "label", "LABEL"),
        ("[Ä b]: <c d.md> 'title'", "definition", "Ä B\tc d.md"),
        *((f"$({kind}: ab-cd )", kind, "ab-cd") for kind in MARKERS),
    ],
)
def test_each_kind(text, kind, target):
    assert [(r.kind, r.target) for r in find_references("text/markdown", text)] == [(kind, target)]


@pytest.mark.parametrize(
    "text",
    [
        "[a](mailto:b@c.d)",
        "[a](javascript:b)",
        "[ ] task",
        "- [x] task",
        "<pre class=k>\n[a](b.md)\n\n[c](d.md)\n</pre>",
        "<!--\n[a]: b.md\n\n[c](d.md)\n```\n[e](f.md)\n```\n[g](h.md)\n-->",
        "- <!-- [a](b.md)\n\n  [c](d.md) -->",
        "a <!--> <!---> b <? [a](b.md) ?> <![CDATA[ [a](b.md) ]]> <!D [a](b.md)>",
        "<ftp://[a](b.md)>",
        "[](b.md\n\n)",
        "[](b.md\n> \n'title')",
        "[](b.md 'tit\n\nle')",
        "[^1] and\n\n[^1]: note",
        "> [!NOTE]\n> text",
        "`$(code: abcd)`",
        "```\n$(code: abcd) [a](b.md)\n```",
        "<!-- [a](b.md) $(code: x) -->",
        "text\n\n    [a](b.md)\n",
        "\\[a](b.md)",
        "a[]",
        "$(other: x) $(code x) $(code:)",
    ],
)
def test_what_is_no_reference(text):
    assert targets(text) == []


def test_other_prose_has_markers_and_html_has_tags():
    text = "$(text: abcd) [a](b.md) <a href=c.md>"
    assert targets(text, mime="text/plain") == ["abcd"]
    assert targets(text, mime="text/html") == ["abcd", "c.md"]
    assert targets(text, mime="application/json") == []


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 20_000, "[a](" * 8000, "`" + "a`` " * 8000, "<!--" * 8000, "[a]: " * 8000, "<a " * 8000, "{#" * 8000),
        *("[" + "~~~\n" * 100_000, "```\n[a](b)\n" * 50_000, "    [x](y)\n\na\n\n" * 20_000, "x <!--\n\n" * 50_000 + "-->"),
        *("<a x='<b y=\"' " * 8000, "<a" + ' x="<a y="' * 8000, "<pre>" * 20_000, "<!--\n```\n" * 20_000, "x <![CDATA[" * 20_000),
    ],
)
def test_hostile_text_takes_time_in_proportion(text):
    from time import process_time

    start = process_time()
    for mime in ("text/markdown", "text/html"):
        find_references(mime, text)
    assert process_time() - start < 5


def test_brackets_in_the_text_of_a_link_make_no_wiki_link():
    assert targets("[[1]](b.md)", "markdown", "wiki") == ["b.md"]
    assert targets("[[1]][l]", "wiki") == []


def test_labels_and_anchors_are_told_apart():
    text = "# H {#id}\n\n[t][l] and [l].\n\n[l]: x.md\n"
    assert targets(text, LABEL) == ["L", "L"]
    assert targets(text, ANCHOR) == ["id"]
    assert targets(text, DEFINITION) == ["L\tx.md"]


@pytest.mark.parametrize(
    "text",
    [
        "x <y [a](b.md) z>",
        'the range "<k-160"\n\n[a](b.md)\n\nends > here',
        "<a href='c\n\n[a](b.md)'>",
        "x <!-- y\n\n[a](b.md) -->",
        "x <!-- [a](b.md)",
        "<!--> [a](b.md) -->",
        "x <? [a](b.md)",
        "x <![CDATA[ [a](b.md)",
        "    <!--\n\n[a](b.md)",
        "```\n<!--\n```\n[a](b.md)\n\n-->",
        "<!--\n```\n-->\n[a](b.md)",
        "[t][a](b.md)",
        "x <pre>[a](b.md)</pre>",
        "<pre>\nx\n</pre>\n[a](b.md)",
        '<y z="1 > 0" [a](b.md)>',
    ],
)
def test_what_looks_like_html_or_a_label_hides_no_link(text):
    assert targets(text) == ["b.md"]


def test_a_label_of_this_section_comes_before_a_link():
    assert targets("[t][l](not this)\n\n[l]: x.md", LABEL, "markdown") == ["L"]
    assert targets("[t][l](b.md)\n\n[l]: x.md", LABEL, "markdown") == ["L"]
    assert targets("[l][](b.md)", LABEL, "markdown") == ["L"]


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        ("<a title='a > b' href=c.md>", [("html", "c.md")]),
        ("<a title='see href=x.md' href='c.md'>", [("html", "c.md")]),
        ("<a\n  href='c.md'\n  id='d'>", [("html", "c.md"), ("anchor", "d")]),
        ("<A HREF=c.md NAME=d/>", [("html", "c.md"), ("anchor", "d/")]),
        ("<a data-href='x.md' data-id='y'>", []),
        ("<img src='mailto:x' srcset='y.png'>", []),
        ("<HTTPS://E.ORG/x>", [("autolink", "HTTPS://E.ORG/x")]),
    ],
)
def test_tags_are_read_by_attribute(tag, found):
    assert {(r.kind, r.target) for r in find_references("text/markdown", "x " + tag)} == set(found)
