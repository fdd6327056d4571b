"""Bytes to text, and back to byte offsets.

A wrong guess is worse than a replacement character: it is stored and searched as if it were what the author wrote. So an
encoding is guessed only where the text itself bears it out; else the bytes that are no UTF-8 are kept as lone surrogates.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from git_kb.errors import KbError

# Git looks for a NUL in as many bytes to tell binary files (buffer_is_binary in git's xdiff-interface.c).
FIRST_FEW_BYTES = 8000

# Longest BOM first: that of UTF-32 LE begins with that of UTF-16 LE.
_BOMS = (
    (BOM_UTF32_LE, "utf-32-le"),
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF8, "utf-8"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)
# Codecs that a source may name for itself ("coding: latin-1"). All are stateless, so that text offsets map to byte offsets.
_DECLARABLE = re.compile(
    r"(?:iso8859-\d+|latin_?1|cp125[0-8]|cp437|cp85\d|cp866|koi8-[rut]|mac-\w+|gb2312|gbk|gb18030|big5|cp9(?:32|49|50)|shift_jis|euc_\w+)\Z"
)
_DECLARATION = re.compile(rb"coding[:=][ \t]*([-\w.]+)|charset[ \t]*=[ \t]*[\"']?([-\w.]+)|<\?xml[^>]*encoding=[\"']([-\w.]+)")


class UndecodableText(KbError):
    """The bytes are no text in any encoding that can be told for sure."""

    hint = "convert it to UTF-8, for example with iconv"

    def __init__(self, why: str):
        self.why = why
        super().__init__(f"cannot decode it: {why}")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text of a source. A byte order mark stays as U+FEFF. encoding: Python's name of the codec, "utf-8" mostly."""

    text: str
    encoding: str
    n_bytes: int
    warnings: tuple[str, ...] = ()

    def byte_offsets(self, offsets: Iterable[int]) -> list[int]:
        """Return the byte offset for each offset into `text`; they must ascend."""
        if self.n_bytes == len(self.text):
            return list(offsets)
        errors = _errors(self.encoding)
        at = n_bytes = 0
        found = []
        for offset in offsets:
            n_bytes += len(self.text[at:offset].encode(self.encoding, errors))
            at = offset
            found.append(min(n_bytes, self.n_bytes))
        return found


def is_binary(data: bytes) -> bool:
    """Return whether git takes the bytes for binary: a NUL in the first 8,000 bytes. Text with a UTF-16 or UTF-32 BOM is not."""
    return b"\0" in data[:FIRST_FEW_BYTES] and _bom_encoding(data) in ("", "utf-8")


def decode_source(data: bytes) -> Decoded:
    """Return the text of a source: by its BOM, as UTF-8, in the encoding it names, or in one it is shown to have.

    Bytes that are no UTF-8 become lone surrogates (surrogateescape), so that offsets survive; a warning counts them.
    Raises UndecodableText.
    """
    encoding = _bom_encoding(data)
    if encoding.startswith("utf-16") or (not encoding and (encoding := _utf16_without_bom(data))):
        return _decode_utf16(data, encoding)
    if encoding.startswith("utf-32"):
        return _decode_utf32(data, encoding)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        return _decode_not_utf8(data, cut_off=e.reason == "unexpected end of data")
    n_nuls = data.count(b"\0")
    return Decoded(text, "utf-8", len(data), (f"has {_count(n_nuls, 'NUL character')}",) if n_nuls else ())


def _bom_encoding(data: bytes) -> str:
    return next((encoding for bom, encoding in _BOMS if data.startswith(bom)), "")


def _errors(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass" if encoding.startswith("utf-") else "strict"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _decode_utf16(data: bytes, encoding: str) -> Decoded:
    odd = len(data) % 2
    text = data[: len(data) - odd].decode(encoding, "surrogatepass")
    if odd:
        # Offsets stay exact: nothing follows, and byte_offsets never goes beyond the end.
        return Decoded(text + "\ufffd", encoding, len(data), ("is cut off in the middle of a character",))
    return Decoded(text, encoding, len(data))


def _decode_utf32(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding, "surrogatepass"), encoding, len(data))
    except UnicodeDecodeError as e:
        raise UndecodableText(f"it begins like {encoding.upper()}, but byte {e.start} is none") from None


def _utf16_without_bom(data: bytes) -> str:
    """Return the name of the UTF-16 that bytes without a BOM are, or "": Latin letters leave a NUL in every other byte."""
    head = data[:FIRST_FEW_BYTES]
    n_nuls = head.count(0)
    if len(data) % 2 or n_nuls * 4 < len(head) or len(head) < 4:
        return ""
    n_even = head[::2].count(0)
    encoding = "utf-16-be" if n_even > n_nuls - n_even else "utf-16-le"
    if min(n_even, n_nuls - n_even) * 10 > n_nuls:
        return ""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return ""
    n_controls = sum(c < " " and c not in "\t\n\r\f" for c in text[:FIRST_FEW_BYTES])
    return "" if n_controls else encoding


# Encodings other than Unicode's.


def _decode_not_utf8(data: bytes, cut_off: bool) -> Decoded:
    """Return the text. cut_off: all is UTF-8 but for a last character that is not whole."""
    text = data.decode("utf-8", "surrogateescape")
    counts = Counter(text)
    n_bad = sum(n for c, n in counts.items() if "\udc80" <= c <= "\udcff")
    n_good = sum(n for c, n in counts.items() if c >= "\x80") - n_bad
    if not cut_off and b"\0" not in data and n_good <= n_bad and not _CESU.search(data):
        for encoding, why in _candidates(data):
            decoded = _decode_exactly(data, encoding)
            if decoded is not None:
                return Decoded(decoded, encoding, len(data), (f"{why} {encoding}",))
    if n_bad * 2 > len(data):
        raise UndecodableText(f"{n_bad:,} of {len(data):,} bytes are no UTF-8, and no other encoding is certain")
    return Decoded(text, "utf-8", len(data), (f"has {_count(n_bad, 'byte')} that {'is' if n_bad == 1 else 'are'} not UTF-8",))


# Surrogates written as UTF-8: broken Unicode, no other encoding.
_CESU = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


def _candidates(data: bytes) -> Iterable[tuple[str, str]]:
    declared = _declared(data)
    if declared:
        yield declared, "is read as it says, in"
        return
    if _looks_chinese(_decode_exactly(data, "gb18030")):
        yield "gb18030", "is not UTF-8; read as"
    if _looks_japanese(_decode_exactly(data, "cp932")):
        yield "cp932", "is not UTF-8; read as"
    if _looks_western(_decode_exactly(data, "cp1252")):
        yield "cp1252", "is not UTF-8; read as"


def _declared(data: bytes) -> str:
    """Return the codec that the source names in its first kilobyte, when it is one we can map offsets in; else ""."""
    import codecs

    m = _DECLARATION.search(data, 0, 1024)
    if not m:
        return ""
    try:
        name = codecs.lookup((m[1] or m[2] or m[3]).decode("ascii", "replace")).name
    except (LookupError, ValueError):
        return ""
    # Browsers read "iso-8859-1" as Windows-1252, which has letters where Latin-1 has control characters.
    if name == "iso8859-1" and _decode_exactly(data, "cp1252") is not None:
        name = "cp1252"
    return name if _DECLARABLE.match(name) else ""


def _decode_exactly(data: bytes, encoding: str) -> str | None:
    """Return the text, or None when the bytes are not this encoding or do not come back from it as they were."""
    try:
        text = data.decode(encoding)
        return text if text.encode(encoding) == data else None
    except UnicodeError:
        return None


# The most frequent Chinese characters; in modern prose every third to second character is one of them.
_FREQUENT_HAN = frozenset(
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手"
    "十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位"
    "因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路"
    "期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指"
    "思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党"
)


def _looks_chinese(text: str | None) -> bool:
    """Return whether text decoded as GB18030 reads as Chinese: Han characters, many of them frequent ones, and no kana."""
    foreign = _foreign(text)
    han = sum(n for c, n in foreign.items() if "\u4e00" <= c <= "\u9fff")
    frequent = sum(n for c, n in foreign.items() if c in _FREQUENT_HAN)
    marks = sum(
        n for c, n in foreign.items() if "\u3000" <= c <= "\u303f" or "\uff01" <= c <= "\uff5e" or "\u2010" <= c <= "\u2026"
    )
    return han >= 3 and frequent * 3 >= han and (han + marks) * 20 >= foreign.total() * 19


def _looks_japanese(text: str | None) -> bool:
    """Return whether text decoded as Shift JIS reads as Japanese: Han characters and a good share of full-width kana."""
    foreign = _foreign(text)
    kana = sum(n for c, n in foreign.items() if "\u3040" <= c <= "\u30ff")
    han = sum(n for c, n in foreign.items() if "\u4e00" <= c <= "\u9fff")
    marks = sum(n for c, n in foreign.items() if "\u3000" <= c <= "\u303f" or "\uff01" <= c <= "\uff5e")
    return kana >= 3 and kana * 4 >= foreign.total() and (kana + han + marks) * 20 >= foreign.total() * 19


def _foreign(text: str | None) -> Counter[str]:
    """Return how often each character beyond ASCII occurs. Counting runs in C; a test of each occurrence does not."""
    return Counter({c: n for c, n in Counter(text or "").items() if c >= "\x80"})


# What Windows-1252 text is made of. Not þ ð ý: more often Turkish than Icelandic. A symbol between two letters, or a capital
# after a small letter, is a letter of some other encoding.
_WESTERN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüŒœŸÿ€‚„…‘’“”•–—™\u00a0¡¢£§©ª«°±²³´µ·º»¼½¾¿®×")
_UNWESTERN = re.compile("[a-zß-ÿ][À-ÖØ-ÞŠŽŒŸ]|[^\\W\\d_][¡¢£§©«²³¿®€„…•™»×][^\\W\\d_]|[£±¼½¾²³][^\\W\\d_]|[^\\W\\d_][£±¼½¾]")


def _looks_western(text: str | None) -> bool:
    """Return whether text decoded as Windows-1252 reads as a Western language: few foreign letters, each where it may stand."""
    if text is None or not _foreign(text).keys() <= _WESTERN or _UNWESTERN.search(text):
        return False
    counts = Counter(text)
    n_letters = sum(n for c, n in counts.items() if c.isalpha())
    n_foreign = sum(n for c, n in counts.items() if c >= "\x80" and c.isalpha())
    return n_foreign * 3 <= n_letters and not any(c < " " and c not in "\t\n\r\f\v\x1b" for c in counts)
