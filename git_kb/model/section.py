"""Section objects: canonical content, names, bytes. docs/format-section.md.

On the search path, so it imports nothing at the top but what is cheap.
"""

from __future__ import annotations

from git_kb.errors import Damaged, KbError
from git_kb.model.digest import digester

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

KBID_LENGTH = 26
RAW_SIZE = 16
KBID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
MIN_PREFIX = 4
_TO_DIGITS = str.maketrans(KBID_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_PAIRS = [a + b for a in KBID_ALPHABET for b in KBID_ALPHABET]

# White_Space, the control characters (Cc) and U+FEFF: what canonical content may neither begin nor end with.
TRIMMED = "".join(
    map(chr, [*range(0x21), *range(0x7F, 0xA1), 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF])
)


class EmptyContent(KbError):
    """Nothing is left of the content after canonicalisation."""

    def __init__(self, what: str = "content"):
        super().__init__(f"{what} is empty: a section needs at least one visible character")


class NotText(KbError):
    """The content is not UTF-8. `offset` is the first bad byte, from 0."""

    hint = "convert it to UTF-8 first, for example with iconv"

    def __init__(self, what: str, offset: int):
        self.offset = offset
        super().__init__(f"{what} is not UTF-8 (byte {offset})")


class BadMime(KbError):
    """The MIME type cannot stand in a section header."""

    def __init__(self, mime: str):
        super().__init__(f"'{mime}' is not a MIME type")


class DamagedSection(Damaged):
    """Bytes that should be a section object are not. `kbid` is the name they were found under."""

    hint = "'git kb ingest -f' makes sections again from their sources; 'git kb fsck' lists all that are damaged"

    def __init__(self, kbid: str, why: str):
        self.kbid, self.why = kbid, why
        super().__init__(f"section {kbid} is damaged: {why}")


class Section:
    """A section: `mime`, canonical `content` (bytes). Both immutable by convention."""

    __slots__ = ("content", "mime")

    def __init__(self, mime: str, content: bytes):
        self.mime, self.content = mime, content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Section) and (self.mime, self.content) == (other.mime, other.content)

    def __hash__(self) -> int:
        return hash((self.mime, self.content))

    def __repr__(self) -> str:
        return f"Section({self.mime!r}, {self.content!r})"


def normalise_mime(mime: str) -> str:
    """Return the MIME type in lower case without parameters. Raises BadMime."""
    name = mime.partition(";")[0].strip().lower()
    major, slash, minor = name.partition("/")
    if not (slash and major and minor and name.isascii() and all(c.isalnum() or c in "!#$&-^_.+/" for c in name)) or "/" in minor:
        raise BadMime(mime)
    return name


def canonical_text(text: str) -> str:
    """Return text in canonical form; may be empty. Lone surrogates become U+FFFD."""
    if not text.isascii():
        from unicodedata import is_normalized, normalize

        text = text.lstrip("\ufeff")
        if not is_normalized("NFC", text):
            text = normalize("NFC", text)
        try:
            text.encode()
        except UnicodeEncodeError:
            text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.strip(TRIMMED)


def make_section(mime: str, content: bytes | str, what: str = "content") -> Section:
    """Return the section of this content. `what` names it in errors.

    Raises EmptyContent, NotText, BadMime.
    """
    mime = normalise_mime(mime)
    if mime.startswith("image/"):
        data = content.encode("ascii", "replace") if isinstance(content, str) else bytes(content)
    else:
        if not isinstance(content, str):
            try:
                content = content.decode("utf-8")
            except UnicodeDecodeError as e:
                raise NotText(what, e.start) from None
        data = canonical_text(content).encode()
    if not data:
        raise EmptyContent(what)
    return Section(mime, data)


def encode_section(section: Section) -> bytes:
    """Return the object's bytes, as stored in the blob."""
    return b"section %s %d\0%s" % (section.mime.encode(), len(section.content), section.content)


def section_id(data: bytes) -> str:
    """Return the kbid of an object's bytes."""
    return kbid_text(digester("sha256")(data).digest()[:16])


def decode_section(data: bytes, kbid: str, verify: bool = True) -> Section:
    """Return the section stored in `data` under the name `kbid`.

    `verify` hashes the bytes too; without it only the header is checked. Raises DamagedSection.
    """
    header, nul, content = data.partition(b"\0")
    words = header.split(b" ")
    if not nul or len(words) != 3 or words[0] != b"section" or not words[2].isdigit():
        raise DamagedSection(kbid, "it has no section header")
    if int(words[2]) != len(content):
        raise DamagedSection(kbid, f"its header says {int(words[2])} bytes, it has {len(content)}")
    if verify and section_id(data) != kbid:
        raise DamagedSection(kbid, "its hash is not its name")
    return Section(words[1].decode("ascii", "replace"), content)


def check_section(data: bytes, kbid: str) -> Section:
    """Return the section that a stranger's bytes are: `decode_section`, and they are also what we would have stored.

    Raises DamagedSection.
    """
    section = decode_section(data, kbid)
    try:
        mime_is_normal = normalise_mime(section.mime) == section.mime
    except BadMime:
        mime_is_normal = False
    if not mime_is_normal:
        raise DamagedSection(kbid, f"'{section.mime}' is not a MIME type as it is stored")
    if encode_section(section) != data:
        raise DamagedSection(kbid, "its header is not written as it should be")
    if why := _why_not_canonical(section):
        raise DamagedSection(kbid, why)
    return section


def _why_not_canonical(section: Section) -> str:
    if not section.content:
        return "it is empty"
    if section.mime.startswith("image/"):
        return ""
    try:
        text = section.content.decode()
    except UnicodeDecodeError as e:
        return f"it is not UTF-8 (byte {e.start})"
    if "\r" in text or text != text.strip(TRIMMED):
        return "its content is not in canonical form"
    from unicodedata import is_normalized, ucd_3_2_0

    if is_normalized("NFC", text):
        return ""
    # Whoever stored it may have known fewer characters than we do, or more. About those of Unicode 3.2 all agree, so what stands
    # between others is looked at: nobody calls damaged what was right where it was made.
    old = "".join([c if ucd_3_2_0.category(c) != "Cn" else "\0" for c in text])
    return "" if all(is_normalized("NFC", run) for run in old.split("\0")) else "its content is not normalised (NFC)"


def cut_section(source: bytes, start: int, end: int, mime: str, kbid: str) -> Section | None:
    """Return the section that stands at a byte range of its source, None when what stands there has another kbid."""
    try:
        content: bytes | str = source[start:end]
        if mime.startswith("image/"):
            # In a source, blanks around it belong to the range, not to the image.
            content = canonical_text(source[start:end].decode("utf-8", "replace"))
        section = make_section(mime, content)
    except (EmptyContent, NotText, BadMime):
        return None
    return section if section_id(encode_section(section)) == kbid else None


def content_hash(content: bytes) -> str:
    """Return the SHA-256 of canonical content, in hex: what chunk ids are cut from."""
    from hashlib import sha256

    return sha256(content).hexdigest()


def chunk_ids(hashes: Iterable[str]) -> list[str]:
    """Return the chunk ids of one document's sections, given their content hashes in order."""
    hashes = list(hashes)
    width = dict.fromkeys(hashes, 8)
    while True:
        short: dict[str, list[str]] = {}
        for h, n in width.items():
            short.setdefault(h[:n], []).append(h)
        clashes = [h for group in short.values() if len(group) > 1 for h in group]
        if not clashes:
            break
        for h in clashes:
            width[h] += 4
    seen: dict[str, int] = {}
    ids = []
    for h in hashes:
        seen[h] = seen.get(h, 0) + 1
        ids.append(f"c-{h[: width[h]]}" + (f"-{seen[h]}" if seen[h] > 1 else ""))
    return ids


def is_kbid(text: str) -> bool:
    """Return whether text has the form of a whole kbid."""
    return len(text) == KBID_LENGTH and not text.strip(KBID_ALPHABET)


def is_kbid_prefix(text: str) -> bool:
    """Return whether text may abbreviate a kbid: 4 to 26 characters of its alphabet."""
    return MIN_PREFIX <= len(text) <= KBID_LENGTH and all(c in KBID_ALPHABET for c in text)


def kbid_bytes(kbid: str) -> bytes:
    """Return the 16 bytes a whole kbid stands for."""
    # int() reads base 32 with the digits 0-9a-v; the 26 digits are 130 bits, of which the last two are 0.
    return (int(kbid.translate(_TO_DIGITS), 32) >> 2).to_bytes(16)


def kbid_text(raw: bytes) -> str:
    """Return the kbid of 16 bytes. Ten times as fast as `base64.b32encode`, which is written in Python."""
    number = int.from_bytes(raw) << 2
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def kbid_of_entry(entry_id: bytes) -> str:
    """Return the kbid of the section that an entry is of."""
    return kbid_text(entry_id[:RAW_SIZE])


def kbid_bounds(prefix: str) -> tuple[bytes, bytes]:
    """Return the smallest 16 bytes whose kbid begins with `prefix`, and what comes after the greatest (of entry ids, too)."""
    # A kbid is 130 bits of which the last two are 0; counting in 5-bit digits keeps this exact.
    low = 0
    for char in prefix.ljust(KBID_LENGTH, KBID_ALPHABET[0]):
        low = low << 5 | KBID_ALPHABET.index(char)
    width = 5 * (KBID_LENGTH - len(prefix))
    high = (low >> width) + 1 << width
    end = (high + 3) >> 2
    past_all = b"\xff" * (RAW_SIZE + 9)
    return (low >> 2).to_bytes(RAW_SIZE), end.to_bytes(RAW_SIZE) if end < 1 << 8 * RAW_SIZE else past_all
