"""What a reference in a section's text is. docs/format-references.md."""

from __future__ import annotations

from typing import NamedTuple

# Changes whenever the references of some text change: what is cached of another generation is made again.
GENERATION = 3

# Content markers `$(kind: id)`.
MARKERS = ("image", "code", "text", "document", "link", "doc-link")
# Links in text. PICTURE is a Markdown image; LABEL names a definition, which may stand in another section of the document.
MARKDOWN, PICTURE, WIKI, AUTOLINK, HTML, LABEL = "markdown", "picture", "wiki", "autolink", "html", "label"
# In reStructuredText: a hyperlink with its destination, one by name, and the roles `:doc:` and `:ref:`.
RST, NAME, DOC, REF = "rst", "name", "doc", "ref"
# A target there, and one at the end of a section, which names the next one.
TARGET, BEFORE = "target", "before"
# What links lead to or go by: `[label]: destination`, and names that a fragment may give.
DEFINITION, ANCHOR = "definition", "anchor"
KINDS = (*MARKERS, MARKDOWN, PICTURE, WIKI, AUTOLINK, HTML, LABEL, RST, NAME, DOC, REF, DEFINITION, ANCHOR, TARGET, BEFORE)


class Reference(NamedTuple):
    """A reference in a section's content.

    kind: one of KINDS. start, end: characters in the content. line: line ends before `start`. target: a marker's id; a
    destination with escapes and entities resolved, not percent-decoded; what stands in a wiki link; a label as
    `text.inline.link_label` gives it; "<label>TAB<destination>" of a definition; the name of an anchor. One line, never empty.
    """

    kind: str
    start: int
    end: int
    line: int
    target: str
