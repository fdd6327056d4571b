"""A graph of references over documents that exist in memory alone."""

from git_kb.index.references import ReferenceFile, References, encode_file, object_records
from git_kb.index.segments import Segments
from git_kb.index.view import View, encode_documents, encode_view
from git_kb.model.document import Manifest, docid_of_path
from git_kb.model.section import kbid_bytes, kbid_text
from git_kb.search.recall import Graph, Subject
from git_kb.store.cut import Limits, cut_source
from git_kb.store.freshness import _view_document
from git_kb.store.manifest import SUFFIX


class TestGraph(Graph):
    __test__ = False

    def document(self, source):
        return Subject(doc=self.resolver.at(source))

    def kbid(self, row):
        return kbid_text(row.entry_id[:16])


def graph_of(files, pages=None):
    """Return the graph of files, path -> text, and web pages, URL -> (docid, text)."""
    documents, records = {}, {}
    sources = [(path, docid_of_path(path.encode()), text) for path, text in files.items()]
    sources += [(url, docid, text) for url, (docid, text) in (pages or {}).items()]
    for path, docid, text in sources:
        cut = cut_source(b"page.md" if "://" in path else path.encode(), text.encode(), Limits(4000, 8000))
        title = cut.source.title or path
        manifest = Manifest(docid, title, path, "0" * 40, cut.source.type, cut.rows)
        documents[docid + SUFFIX] = _view_document(manifest, b"", "0" * 40, {})
        records.update({kbid_bytes(kbid): object_records(kbid, data) for kbid, data in cut.objects.items()})
    view = View.over("v", encode_view(b"key", encode_documents(documents[n] for n in sorted(documents)), Segments("", [], [])))
    return TestGraph(view, References([ReferenceFile("r", "", encode_file(records))]))
