"""Where references lead, in views made in memory."""

import pytest
from graph import graph_of

from git_kb.model.reference import MARKDOWN, WIKI, Reference
from git_kb.search.resolve import slug_of

FILES = {
    "README.md": "# Top\n",
    "docs/README.md": "# Docs\n",
    "docs/guide.md": "# Guide\n\n## Install it\n\ntext\n\n## Feed: the *bees*!\n\n## Install it\n\nagain\n\n## Short {#s}\n\n## Named\n\n<a id='spot'></a>\n",
    "docs/sub/index.md": "# Sub\n",
    "docs/sub/page.md": "# Page\n",
    "docs/sub/v1.2.md": "# Version\n",
    "docs/a b.md": "# Blank\n",
    "docs/caf\u00e9.md": "# Cafe\n",
    "site/content/post/one.md": "# One\n",
    "site/content/post/two/_index.md": "# Two\n",
    "src/tool.py": "x = 1\n",
    "notes/Deep/Guide Two.md": "# Guide Two\n",
}


@pytest.fixture(scope="module")
def graph():
    return graph_of(FILES)


def lead(graph, source, target, kind=MARKDOWN):
    """Return what a link in a source leads to: "path", "path:line", or the state."""
    found = graph.resolver.resolve(graph.resolver.at(source), Reference(kind, 0, 1, 0, target))
    if found.doc < 0:
        return found.state
    path = graph.resolver.document(found.doc).source
    if found.state != "resolved":
        return f"{path} {found.state}"
    return path if found.row is None else f"{path}:{found.row.line}"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("docs/guide.md", "sub/page.md", "docs/sub/page.md"),
        ("docs/guide.md", "./sub/page", "docs/sub/page.md"),
        ("docs/guide.md", "sub/page.html", "docs/sub/page.md"),
        ("docs/guide.md", "sub/page.md?x=1", "docs/sub/page.md"),
        ("docs/guide.md", "sub", "docs/sub/index.md"),
        ("docs/guide.md", "sub/", "docs/sub/index.md"),
        ("docs/guide.md", ".", "docs/README.md"),
        ("docs/guide.md", "..", "README.md"),
        ("docs/guide.md", "../..", "dangling"),
        ("docs/guide.md", "../../etc/passwd", "dangling"),
        ("docs/guide.md", "sub/v1.2", "docs/sub/v1.2.md"),
        ("docs/guide.md", "a%20b.md", "docs/a b.md"),
        ("docs/guide.md", "cafe\u0301.md", "docs/caf\u00e9.md"),
        ("docs/guide.md", "caf%C3%A9.md", "docs/caf\u00e9.md"),
        ("docs/guide.md", "nope.md", "dangling"),
        ("docs/guide.md", "Guide.md", "dangling"),
        ("docs/guide.md", "%00", "dangling"),
        ("docs/guide.md", ".git/config", "dangling"),
        ("docs/guide.md", "https://e.org/docs/guide.md", "external"),
        ("docs/sub/page.md", "/docs/guide.md", "docs/guide.md"),
        ("site/content/post/one.md", "/post/two/", "site/content/post/two/_index.md"),
        ("site/content/post/one.md", "/docs/guide", "docs/guide.md"),
        ("README.md", "/", "README.md"),
        ("README.md", "docs/guide.md#install-it", "docs/guide.md:3"),
        ("README.md", "docs/guide.md#install-it-1", "docs/guide.md:9"),
        ("README.md", "docs/guide.md#feed-the-bees", "docs/guide.md:7"),
        ("README.md", "docs/guide.md#Feed-The-Bees", "docs/guide.md:7"),
        ("README.md", "docs/guide.md#feed_the_bees", "docs/guide.md:7"),
        ("README.md", "docs/guide.md#s", "docs/guide.md:13"),
        ("README.md", "docs/guide.md#spot", "docs/guide.md:15"),
        ("README.md", "docs/guide.md#L8", "docs/guide.md:7"),
        ("README.md", "docs/guide.md#L8-L12", "docs/guide.md:7"),
        ("README.md", "docs/guide.md#nope", "docs/guide.md no-fragment"),
        ("README.md", "docs/guide.md#", "docs/guide.md"),
        ("README.md", "src/tool.py#L1", "src/tool.py:1"),
        ("docs/guide.md", "#install-it", "docs/guide.md:3"),
        ("docs/guide.md", "?a#install-it", "docs/guide.md:3"),
    ],
)
def test_links(graph, source, target, expected):
    assert lead(graph, source, target) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("docs/guide", "docs/guide.md"),
        ("Guide", "docs/guide.md"),
        ("guide#Install it|how", "docs/guide.md:3"),
        ("guide two", "notes/Deep/Guide Two.md"),
        ("deep/guide two", "notes/Deep/Guide Two.md"),
        ("other/guide two", "dangling"),
        ("#Page", "docs/sub/page.md:1"),
        ("nope", "dangling"),
    ],
)
def test_wiki_links(graph, target, expected):
    assert lead(graph, "docs/sub/page.md", target, WIKI) == expected


def test_markers(graph):
    guide = graph.resolver.rows(graph.resolver.at("docs/guide.md"))
    kbid = graph.kbid(guide[1])
    for kind in ("image", "code", "text", "link"):
        assert lead(graph, "README.md", kbid, kind) == "docs/guide.md:3"
        assert lead(graph, "README.md", kbid.upper()[:10], kind) == "docs/guide.md:3"
        assert lead(graph, "README.md", f"docs--guide.md#{guide[1].chunk}", kind) == "docs/guide.md:3"
        assert lead(graph, "README.md", "aaaaaaaaaa", kind) == "dangling"
        assert lead(graph, "README.md", "docs--guide.md", kind) == "dangling"
    for kind in ("document", "doc-link"):
        assert lead(graph, "README.md", "docs--guide.md", kind) == "docs/guide.md"
        assert lead(graph, "README.md", kbid, kind) == "dangling"


def test_labels_lead_where_their_definition_in_the_document_does():
    graph = graph_of({"a.md": "# A\n\n[x][l] and [l] and [no]\n\n## B\n\n[l]: b.md\n[l]: c.md\n", "b.md": "# B\n", "c.md": "# C\n"})
    edges = graph.out_of(graph.document("a.md"))
    assert [(e.reference.kind, graph.resolver.document(e.target.doc).source) for e in edges] == [
        ("label", "b.md"),
        ("label", "b.md"),
    ]
    assert graph.into(graph.document("b.md")) == edges


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("Install it", "install-it"),
        ("Feed: the *bees*!", "feed-the-bees"),
        ("C++ & C", "c--c"),
        ("蜂 の 巣", "蜂-の-巣"),
        ("a_b-c", "a_b-c"),
    ],
)
def test_slugs(heading, slug):
    assert slug_of(heading) == slug


def test_references_of_rst_lead_both_ways():
    graph = graph_of(
        {
            "docs/a.rst": "Title\n=====\n\n:doc:`b` :doc:`/docs/b` :ref:`x <Lab El>` `t <b.rst#part>`__ name_ part_ `Own Part`_ none_\n\n"
            ".. _name: b.rst\n\nOwn Part\n--------\n\ntext\n",
            "docs/b.rst": "B\n=\n\ntext\n\n.. _lab el:\n\nPart\n----\n\ntext\n",
        }
    )
    a, b = graph.document("docs/a.rst"), graph.document("docs/b.rst")
    out = [(e.reference.kind, e.target.doc, e.target.row and e.target.row.line) for e in graph.out_of(a)]
    line = {row.heading[-1]: row.line for n in (a.doc, b.doc) for row in graph.resolver.rows(n)}
    assert out == [
        ("doc", b.doc, None),
        ("doc", b.doc, None),
        ("ref", b.doc, line["Part"]),
        ("rst", b.doc, line["Part"]),
        ("name", b.doc, None),
        ("name", a.doc, line["Own Part"]),
    ]
    assert [e.reference.kind for e in graph.into(b)] == ["doc", "doc", "ref", "rst", "name"]
