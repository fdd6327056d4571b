"""Source code, cut at functions and classes by tree-sitter.

A definition with the comments, decorators and attributes before it is a chunk; a class over the target is cut into its
members; what stands between definitions (imports, constants) is packed. What does not parse is packed the same way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from git_kb.errors import KbError
from git_kb.text.plain import FINER, Cut, Limits, Piece, parts_of, without_blank_pieces

MAX_DEPTH = 20
MAX_NAME = 200


class GrammarMissing(KbError):
    """A grammar package is not installed. `package` is its name."""

    hint = "pip install 'git-kb[code]'"

    def __init__(self, package: str):
        self.package = package
        super().__init__(f"cutting it needs the package {package}")


class Language(NamedTuple):
    """How one language is cut; node types are those of its grammar.

    package: of the grammar; entry: the function in it that gives the grammar.
    defines: definitions that stay whole. contains: definitions with members. wraps: what may stand around a definition.
    opens: groups without a name of their own. before: what belongs to the definition after it.
    """

    package: str
    entry: str
    defines: frozenset[str]
    contains: frozenset[str]
    wraps: frozenset[str] = frozenset()
    opens: frozenset[str] = frozenset({"ERROR"})
    before: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})


def _language(
    package: str, defines: str, contains: str, wraps: str = "", opens: str = "", before: str = "", entry: str = "language"
) -> Language:
    return Language(
        package,
        entry,
        frozenset(defines.split()),
        frozenset(contains.split()),
        frozenset(wraps.split()),
        frozenset(["ERROR", *opens.split()]),
        frozenset(["comment", "line_comment", "block_comment", *before.split()]),
    )


_JS_DEFINES = (
    "function_declaration generator_function_declaration method_definition field_definition lexical_declaration"
    " variable_declaration"
)
_TS_DEFINES = (
    f"{_JS_DEFINES} public_field_definition function_signature type_alias_declaration enum_declaration interface_declaration"
)
_TS_CONTAINS = "class_declaration abstract_class_declaration internal_module module"
_TS_WRAPS = "export_statement ambient_declaration expression_statement"
_C_OPENS = "preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list"
_CS_DEFINES = (
    "method_declaration constructor_declaration destructor_declaration operator_declaration property_declaration"
    " indexer_declaration"
)

LANGUAGES = {
    "text/x-python": _language("tree-sitter-python", "function_definition", "class_definition", "decorated_definition"),
    "text/javascript": _language(
        "tree-sitter-javascript", _JS_DEFINES, "class_declaration", "export_statement", before="decorator"
    ),
    "text/x-typescript": _language(
        "tree-sitter-typescript", _TS_DEFINES, _TS_CONTAINS, _TS_WRAPS, before="decorator", entry="language_typescript"
    ),
    "text/x-tsx": _language(
        "tree-sitter-typescript", _TS_DEFINES, _TS_CONTAINS, _TS_WRAPS, before="decorator", entry="language_tsx"
    ),
    "text/x-go": _language("tree-sitter-go", "function_declaration method_declaration type_declaration", ""),
    "text/x-rust": _language(
        "tree-sitter-rust",
        "function_item struct_item enum_item union_item type_item macro_definition function_signature_item",
        "impl_item trait_item mod_item",
        before="attribute_item",
    ),
    "text/x-java": _language(
        "tree-sitter-java",
        "method_declaration constructor_declaration compact_constructor_declaration annotation_type_declaration",
        "class_declaration interface_declaration enum_declaration record_declaration",
        opens="enum_body_declarations",
    ),
    "text/x-c": _language(
        "tree-sitter-c", "function_definition struct_specifier enum_specifier union_specifier", "", "type_definition", _C_OPENS
    ),
    "text/x-c++": _language(
        "tree-sitter-cpp",
        "function_definition enum_specifier union_specifier alias_declaration concept_definition",
        "class_specifier struct_specifier namespace_definition",
        "type_definition template_declaration",
        _C_OPENS,
    ),
    "text/x-csharp": _language(
        "tree-sitter-c-sharp",
        f"{_CS_DEFINES} delegate_declaration enum_declaration",
        "class_declaration struct_declaration interface_declaration record_declaration namespace_declaration",
        "global_statement",
    ),
    "text/x-ruby": _language("tree-sitter-ruby", "method singleton_method", "class module singleton_class"),
    "text/x-shellscript": _language("tree-sitter-bash", "function_definition", ""),
    "text/x-php": _language(
        "tree-sitter-php",
        "function_definition method_declaration",
        "class_declaration interface_declaration trait_declaration enum_declaration namespace_definition",
        entry="language_php",
    ),
}


MIN_STEPS, BYTES_PER_STEP = 2000, 4
READ_SIZE = 1 << 16


def cut_code(text: str, type: str, limits: Limits) -> Cut:
    """Cut source code of one of LANGUAGES. Headings are the enclosing definitions and the chunk's own.

    What keeps the parser busy without end is cut at lines. Raises GrammarMissing.
    """
    language = LANGUAGES[type]
    parser, chunker = _load(language.package, language.entry)
    source = _Source(text)
    root = _parse(parser, source.data)
    if root is None:
        from git_kb.text.plain import cut_lines

        return cut_lines(text, limits)
    ranges = _ranges(source, language, root.children, 0, (), limits, 0)
    return Cut(_pieces(source, list(ranges), limits), chunker=chunker)


def _parse(parser: Any, data: bytes) -> Any:
    """Return the root node, None for what takes the parser out of all proportion.

    Recovery from errors is quadratic, so a few kilobytes can take minutes. The parser asks from time to time, counted in its own
    steps, whether to go on: for real code once in a hundred bytes. Unlike a clock that says the same everywhere.
    """
    left = MIN_STEPS + len(data) // BYTES_PER_STEP

    def stop(*state: object) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        # The parser asks only when it reads through a function.
        return parser.parse(lambda at, point: data[at : at + READ_SIZE], progress_callback=stop).root_node
    except ValueError:
        parser.reset()
        return None


@cache
def _load(package: str, entry: str) -> tuple[Any, str]:
    """Return a parser and the name of the grammar with its version, major.minor."""
    from importlib import import_module, metadata

    try:
        import tree_sitter

        grammar = getattr(import_module(package.replace("-", "_")), entry)()
        version = metadata.version(package)
    except ImportError:
        raise GrammarMissing(package) from None
    return tree_sitter.Parser(tree_sitter.Language(grammar)), f"{package} {'.'.join(version.split('.')[:2])}"


class _Source:
    """The text and its bytes as the parser sees them."""

    def __init__(self, text: str):
        self.text = text
        self.data = text.encode("utf-8", "replace")  # a lone surrogate is one "?"

    def offsets(self, at: Iterable[int]) -> list[int]:
        """Return the character offset of each byte offset; they must ascend."""
        if len(self.text) == len(self.data):
            return list(at)
        found, last, n = [], 0, 0
        for offset in at:
            n += len(self.data[last:offset].decode("utf-8"))
            last = offset
            found.append(n)
        return found

    def line_start(self, at: int) -> int:
        """Return the byte offset of the line's start, when only blanks stand between it and `at`; else `at`."""
        start = at
        while start and self.data[start - 1] in b" \t":
            start -= 1
        return start if not start or self.data[start - 1] in b"\r\n" else at


class _Range(NamedTuple):
    """A stretch that begins at byte `start` and ends where the next begins. stops: byte offsets at which it may be cut."""

    start: int
    path: tuple[str, ...]
    whole: bool  # a definition; others of the same path join with the next
    stops: tuple[int, ...] = ()


def _ranges(
    source: _Source, language: Language, nodes: list[Any], start: int, path: tuple[str, ...], limits: Limits, depth: int
) -> Iterator[_Range]:
    """Yield the ranges of sibling nodes; the first begins at `start`, so that nothing before it is lost."""
    before = _Before(source)
    first = True
    after_definition = False
    for node in nodes:
        if node.type in language.before:
            before.add(node)
            continue
        definition = _definition(language, node)
        begin = before.start_of(node)
        if definition is None and node.type in language.opens and node.end_byte - begin > limits.target and depth < MAX_DEPTH:
            yield from _ranges(source, language, node.children, start if first else begin, path, limits, depth + 1)
            after_definition = True
        elif definition is not None:
            if first and begin > start:
                yield _Range(start, path, False)
            yield from _definition_ranges(source, language, definition, begin, path, limits, depth)
            after_definition = True
        elif first or node.is_named:
            yield _Range(start if first else begin, path, False, (begin,))
            after_definition = False
        first = False
    if first:
        yield _Range(start, path, False)
    elif before.pending and after_definition and not depth:
        yield _Range(before.begin, path, False)


class _Before:
    """Comments and attributes that may belong to the node after them."""

    def __init__(self, source: _Source):
        self.source = source
        self.pending = False
        self.begin = self.last_row = 0
        self.node_row = -1

    def add(self, node: Any) -> None:
        row = node.start_point[0]
        if row == self.node_row:  # at the end of a statement's line: it is about that statement
            return
        if not self.pending or row > self.last_row + 1:
            self.begin = self.source.line_start(node.start_byte)
        self.pending = True
        self.last_row = node.end_point[0] - (node.end_point[1] == 0)

    def start_of(self, node: Any) -> int:
        """Return where the node begins, with what stands right before it."""
        adjoins = self.pending and node.start_point[0] <= self.last_row + 1
        self.pending = False
        self.node_row = node.end_point[0]
        return self.begin if adjoins else self.source.line_start(node.start_byte)


def _definition_ranges(
    source: _Source, language: Language, definition: Any, begin: int, path: tuple[str, ...], limits: Limits, depth: int
) -> Iterator[_Range]:
    path = (*path, *_names(language, definition))
    body = _body(definition) if definition.type in language.contains else None
    if body is None or definition.end_byte - begin <= limits.target or depth >= MAX_DEPTH:
        yield _Range(begin, path, True)
        return
    yield from _ranges(source, language, body.children, begin, path, limits, depth + 1)


def _definition(language: Language, node: Any) -> Any:
    """Return the definition that a node is or wraps, or None."""
    for _ in range(4):
        if node.type in ("lexical_declaration", "variable_declaration", "field_definition", "public_field_definition"):
            return node if _function_value(node) else None
        if node.type in _NEED_BODY:
            return node if _body(node) else None
        if node.type in language.defines or node.type in language.contains:
            return node
        if node.type not in language.wraps:
            return None
        inner = [c for c in node.named_children if _may_define(language, c)]
        if not inner:
            return None
        node = inner[-1]
    return None


# Without a body these only mention what is defined elsewhere, or name what all of the file belongs to.
_NEED_BODY = (
    "struct_specifier",
    "enum_specifier",
    "union_specifier",
    "class_specifier",
    "namespace_definition",
    "namespace_declaration",
    "mod_item",
)


def _may_define(language: Language, node: Any) -> bool:
    return node.type in language.defines or node.type in language.contains or node.type in language.wraps


def _function_value(node: Any) -> bool:
    """Return whether a JavaScript declaration gives a name to a function or class."""
    values = [node, *(c for c in node.named_children if c.type == "variable_declarator")]
    kinds = ("arrow_function", "function_expression", "function", "generator_function", "class")
    return any((v := n.child_by_field_name("value")) is not None and v.type in kinds for n in values)


def _body(node: Any) -> Any:
    return node.child_by_field_name("body")


def _names(language: Language, node: Any) -> tuple[str, ...]:
    """Return the definition's name; for Go methods the receiver's type before it."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if node.type == "impl_item":
        trait, target = node.child_by_field_name("trait"), node.child_by_field_name("type")
        return (_text(trait) + " for " + _text(target) if trait else _text(target),)
    if node.type == "type_declaration" and language.package == "tree-sitter-go":
        name = next((c.child_by_field_name("name") for c in node.named_children if c.child_by_field_name("name")), None)
    if name is None and node.type in ("lexical_declaration", "variable_declaration"):
        name = next((c.child_by_field_name("name") for c in node.named_children if c.type == "variable_declarator"), None)
    if name is None:
        name = _declared(node)
    receiver = node.child_by_field_name("receiver")
    names = (
        (_receiver_type(receiver), _text(name)) if receiver is not None and language.package == "tree-sitter-go" else (_text(name),)
    )
    return tuple(n.strip("\"'") for n in names if n)


def _declared(node: Any) -> Any:
    """Return the name inside a C declarator, which may be a pointer to a function of …, or None."""
    for _ in range(MAX_DEPTH):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = (
                next((c for c in node.named_children if c.type.endswith("declarator")), None)
                if node.type.endswith("declarator")
                else None
            )
        if inner is None:
            return node if node.type.endswith("identifier") or node.type in ("operator_name", "destructor_name") else None
        node = inner
    return None


def _receiver_type(receiver: Any) -> str:
    words = _text(receiver).strip("()").partition("[")[0].split()
    return words[-1].lstrip("*") if words else ""


def _text(node: Any) -> str:
    return " ".join(node.text.decode("utf-8", "replace").split())[:MAX_NAME] if node is not None else ""


def _pieces(source: _Source, ranges: list[_Range], limits: Limits) -> list[Piece]:
    """Return the ranges as pieces: definitions each alone, what stands between them joined."""
    joined: list[tuple[_Range, list[int]]] = []
    for r in ranges:
        last = joined[-1][0] if joined else None
        if last and not r.whole and not last.whole and r.path == last.path:
            joined[-1][1].extend(r.stops)
        elif last and r.start == last.start:
            joined[-1] = (r, list(r.stops))
        else:
            joined.append((r, list(r.stops)))
    starts = source.offsets(r.start for r, _ in joined)
    stops = source.offsets(stop for _, stops in joined for stop in stops)

    def between_nodes(text: str, start: int, end: int) -> Iterator[int]:
        return iter(stops[bisect_left(stops, start) : bisect_left(stops, end)])

    pieces: list[Piece] = []
    for (r, _), start, end in zip(joined, starts, [*starts[1:], len(source.text)], strict=True):
        pieces += parts_of(source.text, start, end, FINER if r.whole else (between_nodes, *FINER), limits, r.path)
    return without_blank_pieces(source.text, pieces)
