"""MIME types of sources, by name and by content."""

from __future__ import annotations

import re

_BY_ENDING = {
    # cut by structure
    "text/markdown": "md markdown mdown mkd mkdn mdx qmd rmd",
    "text/x-rst": "rst rest",
    # code with a grammar; code.py knows the same types
    "text/x-python": "py pyi pyw",
    "text/javascript": "js mjs cjs jsx",
    "text/x-typescript": "ts mts cts",
    "text/x-tsx": "tsx",
    "text/x-go": "go",
    "text/x-rust": "rs",
    "text/x-java": "java",
    "text/x-c": "c h",
    "text/x-c++": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp",
    "text/x-csharp": "cs",
    "text/x-ruby": "rb rake gemspec",
    "text/x-shellscript": "sh bash",
    "text/x-php": "php phtml",
    # text cut by size
    "text/plain": "txt text log adoc asciidoc org tex textile wiki mediawiki pod me 1 2 3 4 5 6 7 8 srt vtt eml patch diff",
    "text/html": "html htm xhtml shtml",
    "text/css": "css scss sass less",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/x-sql": "sql",
    "text/x-perl": "pl pm t",
    "text/x-lua": "lua",
    "text/x-kotlin": "kt kts",
    "text/x-swift": "swift",
    "text/x-scala": "scala sc",
    "text/x-haskell": "hs lhs",
    "text/x-elixir": "ex exs",
    "text/x-erlang": "erl hrl",
    "text/x-clojure": "clj cljs cljc edn",
    "text/x-r": "r",
    "text/x-julia": "jl",
    "text/x-dart": "dart",
    "text/x-zig": "zig",
    "text/x-ocaml": "ml mli",
    "text/x-fsharp": "fs fsi fsx",
    "text/x-powershell": "ps1 psm1 psd1",
    "text/x-vue": "vue",
    "text/x-svelte": "svelte",
    "text/x-cmake": "cmake",
    "text/x-makefile": "mk mak",
    "text/x-asm": "asm s",
    "text/x-lisp": "lisp el scm ss rkt",
    "text/x-protobuf": "proto",
    "text/x-nix": "nix",
    "text/x-terraform": "tf tfvars hcl",
    "text/x-graphql": "graphql gql",
    "application/json": "json map webmanifest geojson",
    "application/jsonl": "jsonl ndjson",
    "application/json5": "json5 jsonc",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "application/xml": "xml xsd xsl xslt rss atom plist csproj vcxproj props targets resx",
    "text/x-ini": "ini cfg conf properties editorconfig",
    "image/svg+xml": "svg",
    # known, and no text
    "application/pdf": "pdf",
    "application/epub+zip": "epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx docm",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx pptm",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx xlsm",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/rtf": "rtf",
    "application/x-ipynb+json": "ipynb",
    "image/png": "png",
    "image/jpeg": "jpg jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/tiff": "tif tiff",
    "image/x-icon": "ico",
    "application/zip": "zip jar war whl",
    "application/gzip": "gz tgz",
    "application/x-tar": "tar",
    "application/x-7z-compressed": "7z",
    "application/zstd": "zst",
    "application/x-xz": "xz",
    "application/x-bzip2": "bz2",
    "application/wasm": "wasm",
    "application/vnd.sqlite3": "sqlite sqlite3 db",
    "font/ttf": "ttf",
    "font/otf": "otf",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg oga",
    "audio/flac": "flac",
    "video/mp4": "mp4 m4v mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
}
_TYPES = {ending: type for type, endings in _BY_ENDING.items() for ending in endings.split()}
_NAMES = {
    "makefile": "text/x-makefile",
    "gnumakefile": "text/x-makefile",
    "dockerfile": "text/x-dockerfile",
    "containerfile": "text/x-dockerfile",
    "cmakelists.txt": "text/x-cmake",
    "rakefile": "text/x-ruby",
    "gemfile": "text/x-ruby",
    ".env": "text/x-ini",
    ".bashrc": "text/x-shellscript",
    ".profile": "text/x-shellscript",
    "pkgbuild": "text/x-shellscript",
}
_INTERPRETERS = (
    (re.compile(r"python[0-9.]*\Z"), "text/x-python"),
    (re.compile(r"(?:ba|da|k|z)?sh\Z"), "text/x-shellscript"),
    (re.compile(r"node(?:js)?\Z|deno\Z|bun\Z"), "text/javascript"),
    (re.compile(r"ruby[0-9.]*\Z"), "text/x-ruby"),
    (re.compile(r"php[0-9.]*\Z"), "text/x-php"),
    (re.compile(r"perl[0-9.]*\Z"), "text/x-perl"),
)
_SHEBANG = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-\S+[ \t]+)*(\S+))?")

# What a file begins with. Not those of text formats: a name says more there.
_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"{\\rtf", "application/rtf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\x1a\x45\xdf\xa3", "video/x-matroska"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ZIPPED = ("vnd.openxmlformats", "vnd.oasis", "epub")
_OLD_OFFICE = ("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint")

_CONVERTIBLE = {
    "application/pdf": "PDF",
    "application/epub+zip": "EPUB",
    "application/rtf": "RTF",
    "application/x-ipynb+json": "Jupyter notebook",
    "application/msword": "Word document",
    "application/vnd.ms-excel": "Excel workbook",
    "application/vnd.ms-powerpoint": "PowerPoint presentation",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word document",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel workbook",
    "application/vnd.oasis.opendocument.text": "OpenDocument text",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument spreadsheet",
    "application/vnd.oasis.opendocument.presentation": "OpenDocument presentation",
}
_CODE = (
    "text/x-python",
    "text/javascript",
    "text/x-typescript",
    "text/x-tsx",
    "text/x-go",
    "text/x-rust",
    "text/x-java",
    "text/x-c",
    "text/x-c++",
    "text/x-csharp",
    "text/x-ruby",
    "text/x-shellscript",
    "text/x-php",
)


def guess_type(path: str, data: bytes) -> str:
    """Return the MIME type of a source: by the first bytes of known binary formats, else by its name, else by a `#!` line.

    `text/plain` for text of no known name, `application/octet-stream` for binary.
    """
    name = path.rpartition("/")[2]
    by_name = _type_of_name(name)
    return _type_of_magic(data, by_name) or by_name or _type_of_shebang(data) or _text_or_binary(data)


def ending_of(type: str) -> str:
    """Return an ending of file names of this type, with its dot; "" when there is none."""
    endings = _BY_ENDING.get(type, "").split()
    return f".{endings[0]}" if endings else ""


def is_text(type: str) -> bool:
    """Return whether sources of this type are text that can be cut as it is."""
    if type in _CONVERTIBLE:
        return False
    subtype = type.partition("/")[2]
    return type.startswith("text/") or subtype.endswith(("+xml", "+json")) or subtype in _TEXT_SUBTYPES


_TEXT_SUBTYPES = ("json", "jsonl", "json5", "yaml", "toml", "xml", "javascript", "x-sh", "x-yaml", "x-ndjson")


def is_code(type: str) -> bool:
    """Return whether this is source code that is cut with a grammar."""
    return type in _CODE


def is_convertible(type: str) -> bool:
    """Return whether this holds text that a converter can get out."""
    return type in _CONVERTIBLE


def describe_type(type: str) -> str:
    """Return what people call the format, or its MIME type."""
    return _CONVERTIBLE.get(type, type)


_LFS_VERSION = re.compile(rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v1\r?\n")
_LFS_LINE = re.compile(
    rb"(?:version https://(?:git-lfs|hawser)\.github\.com/spec/v1|ext-\d+-\S+ \S+|oid sha256:[0-9a-f]{64}|size \d+"
    rb"|<{7}(?: .*)?|={7}|>{7}(?: .*)?|\|{7}(?: .*)?)?\r?"
)


def is_lfs_pointer(data: bytes) -> bool:
    """Return whether the bytes are a Git LFS pointer and nothing else; line ends may be CRLF, and a conflict unresolved."""
    # The specification allows 1,024 bytes; a conflict holds three pointers at most.
    if len(data) > 4096 or not 1 <= data.count(b"oid sha256:") <= 3 or not _LFS_VERSION.search(data):
        return False
    return all(_LFS_LINE.fullmatch(line) for line in data.split(b"\n"))


def _type_of_name(name: str) -> str:
    lower = name.lower()
    if lower in _NAMES:
        return _NAMES[lower]
    stem, dot, ending = lower.rpartition(".")
    return _TYPES.get(ending, "") if dot and (stem or ending in _TYPES) else ""


def _type_of_magic(data: bytes, by_name: str) -> str:
    for magic, type in _MAGIC:
        if data.startswith(magic):
            return type
    # The PDF specification lets up to 1,024 bytes stand before the header.
    if by_name == "application/pdf" and b"%PDF-" in data[:1024]:
        return by_name
    if data.startswith(_ZIP):
        return by_name if any(z in by_name for z in _ZIPPED) or by_name == "application/zip" else _type_of_zip(data)
    if data.startswith(_OLE):
        return by_name if by_name in _OLD_OFFICE else "application/x-ole-storage"
    if data[:4] == b"RIFF" and data[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if data[8:12] == b"WEBP" else "audio/wav"
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return ""


def _type_of_zip(data: bytes) -> str:
    """Return the type of a zip file by what its first entries are called."""
    head = data[:4096]
    if b"mimetypeapplication/epub+zip" in head:
        return "application/epub+zip"
    for folder, kind in (
        (b"word/", "wordprocessingml.document"),
        (b"ppt/", "presentationml.presentation"),
        (b"xl/", "spreadsheetml.sheet"),
    ):
        if b"[Content_Types].xml" in head and folder in data:
            return f"application/vnd.openxmlformats-officedocument.{kind}"
    return "application/zip"


def _type_of_shebang(data: bytes) -> str:
    m = _SHEBANG.match(data)
    if not m:
        return ""
    program = m[1].rpartition(b"/")[2]
    name = (m[2] if program == b"env" and m[2] else program).rpartition(b"/")[2].decode("ascii", "replace")
    return next((type for pattern, type in _INTERPRETERS if pattern.match(name)), "")


def _text_or_binary(data: bytes) -> str:
    from git_kb.text.decode import is_binary

    return "application/octet-stream" if is_binary(data) else "text/plain"
