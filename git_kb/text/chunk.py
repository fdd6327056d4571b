"""One source in, chunks out."""

from __future__ import annotations

from git_kb.errors import KbError
from git_kb.model.chunk import Chunk, ChunkedSource
from git_kb.model.document import is_section_file
from git_kb.text.decode import Decoded, UndecodableText, decode_source, is_binary
from git_kb.text.mime import describe_type, guess_type, is_code, is_convertible, is_lfs_pointer, is_text
from git_kb.text.plain import Cut, Limits, is_blank

MAX_TITLE = 300


class Unusable(KbError):
    """A source that gives no chunks. `path` names it, `reason` says why in words."""

    def __init__(self, path: str, reason: str, hint: str = ""):
        self.path, self.reason = path, reason
        if hint:
            self.hint = hint
        super().__init__(f"cannot use '{path}': {reason}")


class MissingExtra(Unusable):
    """An optional part of git-kb is not installed. `extra` is its name.

    Cutting some other way instead would give one source different sections on different machines.
    """

    def __init__(self, extra: str, path: str, reason: str):
        self.extra = extra
        super().__init__(path, reason, f"pip install 'git-kb[{extra}]'")


def chunk_source(
    path: str, data: bytes, target: int = 4000, ceiling: int = 8000, type: str | None = None, detect: bool = False
) -> ChunkedSource:
    """Cut a source into chunks that tile it. type: its MIME type, when it is not to be guessed from path and content.

    detect: look at the prose for its language, when front matter does not tell. Sizes are bytes of UTF-8. Raises Unusable.
    """
    type = type or guess_type(path, data)
    decoded = _decode(path, data, type)
    text = decoded.text
    if is_blank(text, 0, len(text)):
        raise Unusable(path, "it is empty")
    cut = _cutter(path, type, text, Limits(min(target, ceiling), ceiling))
    encoding = "" if decoded.encoding == "utf-8" else decoded.encoding
    return ChunkedSource(
        type=type,
        chunks=tuple(_chunks(decoded, cut)),
        title=" ".join(cut.title.split())[:MAX_TITLE].rstrip(),
        tags=cut.tags,
        encoding=encoding,
        chunker=cut.chunker,
        language=_language(type, text, cut, detect),
        warnings=decoded.warnings + cut.warnings,
        metadata=cut.metadata,
    )


def _language(type: str, text: str, cut: Cut, detect: bool) -> str:
    declared = [value for key, value in cut.metadata if key in ("lang", "language")]
    if not declared and not detect:
        return ""
    from git_kb.text.detect import declared_language, document_language

    told = next(filter(None, map(declared_language, declared)), "")
    if told or not detect:
        return told
    start = cut.pieces[0].end if cut.pieces and cut.pieces[0].role else 0
    if any(p.type and not p.role for p in cut.pieces):
        # Sections of other types (code, images) say nothing of it.
        return document_language(type, "".join(text[p.start : p.end] for p in cut.pieces if not (p.type or p.role)))
    return document_language(type, text[start:])


def why_unusable(path: str, data: bytes) -> str:
    """Return the reason that `chunk_source` would give for refusing a source, "" when it decodes: nothing is cut."""
    try:
        text = _decode(path, data, guess_type(path, data)).text
    except Unusable as e:
        return e.reason
    return "it is empty" if is_blank(text, 0, len(text)) else ""


def _decode(path: str, data: bytes, type: str) -> Decoded:
    if not data:
        raise Unusable(path, "it is empty")
    if is_lfs_pointer(data):
        raise Unusable(path, "it is a Git LFS pointer, not the content", "git lfs pull")
    if is_convertible(type):
        raise Unusable(path, f"{describe_type(type)}: it needs converting to text first")
    if not is_text(type):
        raise Unusable(path, f"it is binary ({type})")
    try:
        decoded = decode_source(data)
    except UndecodableText as e:
        raise Unusable(path, e.why, e.hint) from None
    if is_binary(data) and not _nearly_text(decoded):
        raise Unusable(path, "it is binary")
    return decoded


def _nearly_text(decoded: Decoded) -> bool:
    """Return whether text with a NUL is text all the same: UTF-16 without a BOM, or one control character in a hundred at most."""
    if decoded.encoding != "utf-8":
        return True
    head = decoded.text[:8000]
    n_odd = sum((c < " " and c not in "\t\n\r\f\v\x1b") or "\udc80" <= c <= "\udcff" for c in head)
    return n_odd <= 1 + len(head) // 100


def _cutter(path: str, type: str, text: str, limits: Limits) -> Cut:
    if is_section_file(path):
        from git_kb.text.sectionfile import cut_section_file

        return cut_section_file(text)
    if type == "text/markdown":
        from git_kb.text.markdown import cut_markdown

        return cut_markdown(text, limits)
    if type == "text/x-rst":
        from git_kb.text.rst import cut_rst

        return cut_rst(text, limits)
    if is_code(type):
        from git_kb.text.code import GrammarMissing, cut_code

        try:
            return cut_code(text, type, limits)
        except GrammarMissing as e:
            raise MissingExtra("code", path, str(e)) from None
    from git_kb.text.plain import cut_lines, cut_plain

    return cut_plain(text, limits) if type in ("text/plain", "text/html") else cut_lines(text, limits)


def _chunks(decoded: Decoded, cut: Cut) -> list[Chunk]:
    """Return the pieces as chunks, with their bytes and lines counted."""
    text = decoded.text
    ends = decoded.byte_offsets(p.end for p in cut.pieces)
    chunks = []
    start, line = 0, 1
    for piece, end in zip(cut.pieces, ends, strict=True):
        part = text[piece.start : piece.end]
        n_lines = part.count("\n")
        if "\r" in part:
            n_lines += part.count("\r") - part.count("\r\n")
        chunks.append(Chunk(start, end, line, n_lines, part, piece.heading, piece.type, piece.role, piece.part))
        start, line = end, line + n_lines
    return chunks
