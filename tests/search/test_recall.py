"""Both directions say the same; contexts hold what they are around."""

from graph import graph_of
from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.reference import MARKERS
from git_kb.search.recall import CONTEXT, Subject, context

PATHS = ["README.md", "a.md", "d/README.md", "d/a.md", "d/e/index.md", "d/e/B b.md", "d/v1.0.md", "z.txt"]
DESTINATIONS = [
    "a.md", "../a.md", "d/a", "d/", "d", "..", ".", "./e/", "/d/a.md", "/e/index.html", "e/B%20b.md", "B b", "v1.0", "v1.0.md", "/", "#one",
    "a.md#one", "a.md#two", "d/a.md#one-1", "#none", "x/..", "nope.md", "https://e.org/a.md", "z.txt#L2", "README.md#L1",
]  # fmt: skip

links = st.one_of(
    st.sampled_from(DESTINATIONS).map("[t](<{}>)".format),
    st.sampled_from(DESTINATIONS).map("[t][l{0}]\n\n[l{0}]: <{0}>\n".format),
    st.sampled_from(["a", "B b", "d/a", "README", "a#one", "#two", "nope"]).map("[[{}]]".format),
    st.sampled_from(["a.md", "d--a.md", "nope"]).map("$(doc-link: {})".format),
    st.sampled_from(["plain words", "$(code: aaaa)", "[l2]"]),
)
sections = st.tuples(st.sampled_from(["one", "two", "one", "three"]), st.lists(links, max_size=3))
documents = st.lists(sections, min_size=1, max_size=4).map(
    lambda some: "# Top\n\n" + "\n\n".join(f"## {heading}\n\n" + "\n\n".join(body) for heading, body in some) + "\n"
)


def with_markers(files):
    """Return files with markers to each section of one of them added to another."""
    graph = graph_of(files)
    first, last = sorted(files)[0], sorted(files)[-1]
    kbids = [graph.kbid(row)[:12] for row in graph.resolver.rows(graph.resolver.at(first))]
    return {**files, last: files[last] + "".join(f"\n$(text: {kbid})\n" for kbid in kbids)}


def subjects(graph):
    """Return all documents and sections."""
    docs = range(graph.view.n_documents)
    kbids = {row.entry_id[:16] for doc in docs for row in graph.resolver.rows(doc)}
    return [Subject(doc=doc) for doc in docs], [Subject(kbid=kbid) for kbid in sorted(kbids)]


def place(edge):
    return (edge.row.doc, edge.row.start, edge.reference)


@given(st.dictionaries(st.sampled_from(PATHS), documents, min_size=2))
def test_what_leads_out_of_one_leads_into_the_other(files):
    graph = graph_of(with_markers(files))
    docs, sections = subjects(graph)
    out = [edge for doc in docs for edge in graph.out_of(doc)]
    for doc in docs:
        held = {row.entry_id[:16] for row in graph.resolver.rows(doc.doc)}
        expected = [e for e in out if e.target.doc == doc.doc or (e.reference.kind in MARKERS and e.target.kbid in held)]
        assert sorted(map(place, graph.into(doc))) == sorted(map(place, expected))
    for section in sections:
        expected = [e for e in out if e.target.kbid == section.kbid]
        assert sorted(map(place, graph.into(section))) == sorted(map(place, expected))
    assert sorted(map(place, out)) == sorted(place(e) for s in sections for e in graph.out_of(s))


def test_links_to_other_sites_are_listed_on_request():
    graph = graph_of({"a.md": "# A\n\n[x](https://e.org/) [y](b.md)\n"})
    assert [e.target.state for e in graph.out_of(Subject(doc=0))] == ["dangling"]
    assert [e.target.state for e in graph.out_of(Subject(doc=0), external=True)] == ["external", "dangling"]


def test_a_document_of_a_url_is_found_by_it():
    text = "# A\n\n[x](https://e.org/p#top) <https://e.org/p/> [y](https://e.org/p#part) [z](https://e.org/q)\n"
    graph = graph_of({"a.md": text, "z.md": "# Z\n"}, {"https://e.org/p": ("url--e.org--p", "# Page\n\n## Part\n")})
    edges = graph.out_of(Subject(doc=0), external=True)
    assert [e.target.state for e in edges] == ["resolved", "resolved", "resolved", "external"]
    page = Subject(doc=graph.resolver.by_docid("url--e.org--p"))
    assert [e.reference for e in graph.into(page)] == [e.reference for e in edges[:3]]
    assert [e.target.row and e.target.row.heading[-1] for e in edges[:3]] == [None, None, "Part"]


@given(st.text(max_size=600), st.data())
def test_a_context_is_around_its_range_and_about_so_long(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = context(text, start, end)
    assert len(found) <= CONTEXT + 4
    assert "".join(text[start : min(end, start + CONTEXT)].split()) in "".join(found.split())
    if len(text) <= CONTEXT:
        assert found == " ".join(text.split())


def test_a_context_of_a_range_that_leaves_the_text_is_empty():
    assert context("abc", 2, 9) == ""


def test_a_context_is_cut_between_words():
    text = "word " * 100 + "[a](b.md) " + "more " * 100
    found = context(text, 500, 509)
    assert found.startswith("… word")
    assert found.endswith("more …")
    assert 130 <= len(found) <= CONTEXT + 4
