"""The query language, docs/query-language.md: from a string to what to look for. Any string is a query.

On the search path.
"""

from __future__ import annotations

from git_kb.errors import shortened
from git_kb.text.words import STOP_WORDS, folded, is_unspaced, terms, word_terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

OPENING = '"“„«'
CLOSING = '"”“»'
FIELDS = {"heading": 0, "body": 1, "code": 2}
FILTERS = ("tag", "type", "path", "doc", "tier", "before", "after")
# What stands behind the apostrophe of a contraction or a genitive. A word of its own elsewhere: `t`, `re`.
CONTRACTED = frozenset(("d", "ll", "m", "re", "s", "t", "ve"))
# A query of more words than this is prose, and quotes in it are no demand.
MAX_TERSE = 8
MAX_DEPTH = 20
MAX_SLOP = 1000
PUNCTUATION = "?!.,;:'()¿¡؟،؛।。、？！"
# So many alternatives, exclusions, phrases and beginnings; each costs a look at each candidate.
MAX_DEMANDS = 256
# What of a query is also looked for as it is written: words with symbols in them, so many and so long.
MAX_LITERALS, MAX_LITERAL = 8, 100
# Characters of a word that a warning shows.
MAX_SHOWN = 100
# Characters of a query that count.
MAX_QUERY = 200_000
_ENDING = "?!.,;:"
_QUOTES = "'`\"’"
# In a knowledge base of several languages, a query is taken to be in one when it has so many different function words of it.
MIN_FUNCTION_WORDS = 2
# Languages that share the rules of English, since each has its script to itself.
SCRIPT_LANGUAGES = ("ru", "el", "ar", "hi")
# Rules of more than one language -> the language whose function words are looked for.
LANGUAGE_OF_RULES = {"sr": "hr", "latn": "vi", "deva": "mr"}


class Atom:
    """Terms that stand in this order in one field, at most `slop` other tokens among them.

    readings: the terms, in each way that the languages of the view give them; one of them has to be there. field: one of FIELDS'
    values, None for any. prefix: the one term is the beginning of terms. stop: it is a bare function word. written: what has to
    stand there as it is written; only while a query is read. also: terms that stand for words that begin so, though they do not.
    """

    __slots__ = ("also", "field", "prefix", "readings", "slop", "stop", "written")

    def __init__(
        self,
        readings: Iterable[Sequence[str]],
        field: int | None = None,
        slop: int = 0,
        prefix: bool = False,
        stop: bool = False,
        written: str = "",
        also: Iterable[str] = (),
    ):
        self.also = tuple(also)
        self.readings = tuple(map(tuple, readings))
        if len(self.readings) > 1:
            self.readings = tuple(dict.fromkeys(self.readings))
        self.field, self.slop, self.prefix, self.stop, self.written = field, slop, prefix, stop, written

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms of all readings, without repeats."""
        if len(self.readings) == 1:
            return self.readings[0]
        return tuple(dict.fromkeys(term for reading in self.readings for term in reading))


class Group:
    """Holds where all of `must` hold, nothing of `must_not` does, and, when nothing must, one of `should` does."""

    __slots__ = ("must", "must_not", "should")

    def __init__(self) -> None:
        self.must: list[Atom | Either] = []
        self.should: list[Atom] = []
        self.must_not: list[Atom | Either | Group] = []

    def __bool__(self) -> bool:
        return bool(self.must or self.should)

    def add(self, other: Group) -> None:
        """Take over what another group asks for."""
        self.must += other.must
        self.should += other.should
        self.must_not += other.must_not


class Either:
    """Holds where one of its groups does."""

    __slots__ = ("groups",)

    def __init__(self, groups: list[Group]):
        self.groups = groups


class Written:
    """What a hit has to hold as it is written, or, when negative, may not. field: one of FIELDS' values, None for any.

    readings: its terms; when it has none, its text alone tells which sections have it.
    """

    __slots__ = ("field", "literal", "negative", "readings")

    def __init__(self, literal: str, field: int | None, negative: bool, readings: tuple[tuple[str, ...], ...]):
        self.literal, self.field, self.negative, self.readings = literal, field, negative, readings


class Query:
    """A parsed query.

    root: what a hit has to hold. filters: (name, value, negative) of what its document has to be. weights: term -> how often it
    was asked for, in order of first use: what is scored. alternatives: terms among these that are one word in several languages.
    prefixes: beginnings of further terms to score; completions: terms that stand for words that begin so, though they do not.
    literals: words with symbols in them, as they are written -> the readings of their terms, maybe none. written: what a hit has to
    hold, or may not, as it is written. warnings: what was taken for words instead of syntax, for the user. implied: what is
    required is our reading of a query that requires nothing.
    """

    __slots__ = (
        "alternatives", "completions", "filters", "implied", "literals", "prefixes", "root", "text", "warnings", "weights",
        "written",
    )  # fmt: skip

    def __init__(self, text: str):
        self.text = text
        self.root = Group()
        self.filters: list[tuple[str, str, bool]] = []
        self.weights: dict[str, float] = {}
        self.alternatives: list[tuple[str, ...]] = []
        self.prefixes: list[str] = []
        self.completions: list[str] = []
        self.literals: dict[str, tuple[tuple[str, ...], ...]] = {}
        self.written: list[Written] = []
        self.warnings: list[str] = []
        self.implied = False

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.weights or self.prefixes)

    def ask(self, atom: Atom) -> None:
        """Score the terms of an atom."""
        for term in atom.terms:
            self.weights[term] = self.weights.get(term, 0) + 1
        if len(atom.readings) > 1:
            for same in zip(*atom.readings, strict=False):
                if len(distinct := tuple(dict.fromkeys(same))) > 1:
                    self.alternatives.append(distinct)

    def loosened(self) -> Query:
        """Return the query that asks for the same words and requires none."""
        query = Query(self.text)
        query.weights, query.alternatives, query.prefixes = self.weights, self.alternatives, self.prefixes
        query.literals, query.completions = self.literals, self.completions
        query.root.must_not = self.root.must_not
        query.written = [one for one in self.written if one.negative]
        return query

    @property
    def demands(self) -> bool:
        """Whether a hit has to hold something besides some word."""
        return bool(self.root.must) or any(not one.negative for one in self.written)

    @property
    def excluded(self) -> list[str]:
        """The terms that no hit may hold, by themselves or in what it may not hold as it is written."""
        written = [term for one in self.written if one.negative for reading in one.readings for term in reading]
        return [*(term for node in self.root.must_not for atom in atoms_of(node) for term in atom.terms), *written]


def atoms_of(node: Atom | Either | Group) -> Iterator[Atom]:
    """Yield the atoms below a node that ask for something."""
    if isinstance(node, Atom):
        yield node
    elif isinstance(node, Either):
        for group in node.groups:
            yield from atoms_of(group)
    else:
        for child in (*node.must, *node.should):
            yield from atoms_of(child)


def parse_query(text: str, rules: Sequence[str] = ("",)) -> Query:
    """Return the query a string means. Never fails: what is no syntax is words.

    rules: those by which the terms of the view's documents are made (`View.rules`).
    """
    query = Query(text)
    if len(text) > MAX_QUERY:
        text = text[:MAX_QUERY]
        query.warnings.append(f"it is longer than {MAX_QUERY} characters: the rest is passed over")
    parser = _Parser(text, query, rules)
    query.root = root = parser.sequence(0)
    parser.take_written(root)
    # An unspaced run gives two terms for a character, which is half a word.
    if sum(0.25 if is_unspaced(atom.terms[0][0]) else 1.0 for atom in root.should) > MAX_TERSE:
        prose = [node for node in root.must if isinstance(node, Atom) and node.field is None]
        root.should += prose
        root.must = [node for node in root.must if node not in prose]
    if any(not atom.stop for atom in atoms_of(root)):
        root.should = [atom for atom in root.should if not atom.stop]
    for atom in atoms_of(query.root):
        if atom.prefix:
            query.prefixes += [t for t in atom.terms if t not in query.prefixes]
            query.completions += [t for t in atom.also if t not in query.completions]
        else:
            query.ask(atom)
    if len(root.should) > 1 and not root.must and all(atom.stop for atom in root.should):
        # Function words say something by their order alone: "to be or not to be".
        n = max(len(atom.readings) for atom in root.should)
        root.must = [Atom([[t for atom in root.should for t in atom.readings[min(i, len(atom.readings) - 1)]] for i in range(n)])]
        root.should = []
        query.implied = True
    # A lone mark beside words ("rock & roll") joins them; by itself it is what is looked for.
    if query or len(query.literals) > 1:
        kept = parser.demanded
        query.literals = {text: found for text, found in query.literals.items() if found or not _is_mark(text) or text in kept}
    return query


def stop_words(text: str, rules: Sequence[str] = ("",)) -> frozenset[str]:
    """Return the function words, case-folded, of the language that a query seems to be in."""
    if text.isascii() and not any(rules):
        return STOP_WORDS
    from git_kb.text.function_words import function_words

    there = {word.casefold() for word in words(text)}
    best, most = "", 0
    for language in dict.fromkeys([*(LANGUAGE_OF_RULES.get(r, r) or "en" for r in rules), *SCRIPT_LANGUAGES]):
        n = len(there & function_words(language))
        if n > most:
            best, most = language, n
    if best in SCRIPT_LANGUAGES:
        return STOP_WORDS | function_words(best)
    sure = most >= MIN_FUNCTION_WORDS or len(rules) == 1
    return function_words(best) if best and sure else STOP_WORDS


class _Parser:
    """One pass over a query string."""

    def __init__(self, text: str, query: Query, rules: Sequence[str]):
        self.text, self.query, self.at, self.rules = text, query, 0, rules
        self.stop_words = stop_words(text, rules)
        self.n_demands = 0
        # Whether this is inside of `-(…)`.
        self.excludes = False
        # Literals that stood behind a field.
        self.demanded: set[str] = set()
        # How many words may yet have to stand as they are written.
        self.n_written = MAX_LITERALS
        # Character -> where it stands next, as far as that is known; past the end when nowhere.
        self._next: dict[str, int] = {}

    def sequence(self, depth: int) -> Group:
        """Read items up to the end, or up to the parenthesis that closes this one."""
        text = self.text
        # Groups joined by OR so far; the last one is the one that an OR would follow.
        chain: list[Group] = []
        whole = Group()
        joined = False
        while self.at < len(text):
            if text[self.at].isspace():
                self.at += 1
                continue
            if text[self.at] == ")":
                self.at += 1
                if depth:
                    break
                self._warn("')' closes nothing")
                continue
            if self._is_or() and chain:
                self.at += 2
                joined = True
                continue
            item = self._item(depth)
            if item is None:
                continue
            if joined and self._may_demand():
                chain.append(item)
                joined = False
                continue
            joined = False
            self._close(whole, chain)
            chain = [item]
        else:
            if depth:
                self._warn("'(' is never closed")
        if joined:
            self._warn("OR has nothing after it")
        self._close(whole, chain)
        return whole

    def take_written(self, root: Group) -> None:
        """Move what has to stand as it is written from the root to the query; its words rank like others."""
        for nodes, negative in ((root.must, False), (root.must_not, True)):
            for node in [node for node in nodes if isinstance(node, Atom) and node.written]:
                self.query.written.append(Written(node.written, node.field, negative, node.readings))
                if not node.readings:
                    where = "in an exclusion" if negative else "behind a field"
                    why = "has no letter or digit to look for: it is looked for in the text of all sections"
                    self._warn(f"{where} '{shortened(node.written, MAX_SHOWN)}' {why}")
                if not negative:
                    root.should += [Atom(same) for same in _by_place(node.readings)]
        root.must = [node for node in root.must if not (isinstance(node, Atom) and node.written)]
        root.must_not = [node for node in root.must_not if not (isinstance(node, Atom) and node.written)]

    def _close(self, whole: Group, chain: list[Group]) -> None:
        """Put items into a group: those joined by OR as alternatives, a lone one as it is."""
        if len(chain) > 1:
            for group in chain:
                self._by_terms(group)
        groups = [group for group in chain if group]
        if len(groups) > 1:
            whole.must.append(Either(groups))
            groups = []
        # What only excludes is no alternative: it excludes from all.
        for group in (*groups, *(group for group in chain if not group)):
            whole.add(group)

    def _by_terms(self, group: Group) -> None:
        """Let terms alone count in what is an alternative, or excluded as a whole: say so, and drop what has none."""
        bare = "in an exclusion" if self.excludes else "in an alternative"
        for nodes, where in ((group.must, "behind a field"), (group.must_not, "in an exclusion"), (group.should, bare)):
            for node in [node for node in nodes if isinstance(node, Atom) and node.written]:
                shown = shortened(node.written, MAX_SHOWN)
                if node.readings:
                    self._warn(f"{where} the symbols of '{shown}' do not count beside OR or in '-(…)', only its letters and digits")
                else:
                    self._warn(f"{where} '{shown}' has no letter or digit to look for: beside OR or in '-(…)' it demands nothing")
                node.written = ""
        group.must = [node for node in group.must if not isinstance(node, Atom) or node.readings]
        group.must_not = [node for node in group.must_not if not isinstance(node, Atom) or node.readings]
        group.should = [node for node in group.should if node.readings]

    def _is_or(self) -> bool:
        after = self.text[self.at + 2 : self.at + 3]
        return self.text.startswith("OR", self.at) and (not after or after.isspace() or after == ")")

    def _item(self, depth: int) -> Group | None:
        """Read one word, phrase, filter or group. None for what asks for nothing."""
        text = self.text
        negative = self._minus()
        if text[self.at] == "(":
            return self._parenthesis(depth, negative)
        start = self.at
        field = self._field()
        if isinstance(field, str):
            value = self._value(depth)
            self.query.filters.append((field, value, negative))
            return None
        found = self._atoms(depth, field, start if field is not None else None, negative)
        group = Group()
        for atom, required in found:
            if negative:
                group.must_not += [atom] if self._may_demand() else []
            elif required and self._may_demand():
                group.must.append(atom)
            else:
                group.should.append(atom)
        return group

    def _may_demand(self) -> bool:
        """Count one more thing that candidates are tested for. Returns whether it is still allowed."""
        self.n_demands += 1
        if self.n_demands > MAX_DEMANDS:
            self._warn(f"more than {MAX_DEMANDS} phrases, alternatives and exclusions: the others are words, or passed over")
        return self.n_demands <= MAX_DEMANDS

    def _minus(self) -> bool:
        """Step over the `-` of an exclusion. `--dry-run` and a lone dash ask for their words."""
        text, at = self.text, self.at
        if text[at] != "-" or at + 1 >= len(text) or (at and not text[at - 1].isspace() and text[at - 1] != "("):
            return False
        after = text[at + 1]
        named = after in ".#$@" and text[at + 2 : at + 3].isalnum()
        if after.isascii() and not (after.isalnum() or after.isspace() or after in '_(-"' or named):
            end = next((i for i in range(at, len(text)) if text[i].isspace()), len(text))
            rest = text[at + 1 : end]
            # `->` and `-=` are operators of their own.
            if rest not in (">", "=") and rest.strip(PUNCTUATION) and not any(map(str.isalnum, rest)):
                shown = shortened(rest, MAX_SHOWN)
                self._warn(f"'-{shown}' is looked for as it is written; to leave out '{shown}', quote it: -\"{shown}\"")
        if not (after.isalnum() or after in "_(" or after in OPENING or named or (not after.isascii() and _is_symbol(after, 0))):
            return False
        self.at += 1
        return True

    def _parenthesis(self, depth: int, negative: bool) -> Group | None:
        self.at += 1
        if depth >= MAX_DEPTH:
            self._warn(f"parentheses deeper than {MAX_DEPTH} are passed over")
            return None
        outside, self.excludes = self.excludes, self.excludes or negative
        inside = self.sequence(depth + 1)
        self.excludes = outside
        if not negative:
            return inside
        group = Group()
        if not inside.must and not inside.must_not:
            # Without an OR, parentheses change nothing.
            group.must_not += inside.should
            return group
        self._by_terms(inside)
        if inside:
            group.must_not.append(inside)
        return group

    def _field(self) -> int | str | None:
        """Step over `name:` when something follows it; returns the field's number or the filter's name."""
        colon = self.text.find(":", self.at, self.at + 10)
        name = self.text[self.at : colon].lower() if colon > 0 else ""
        after = self.text[colon + 1 : colon + 2]
        if (name not in FIELDS and name not in FILTERS) or not after or after.isspace() or after in "()":
            return None
        self.at = colon + 1
        return FIELDS.get(name, name)

    def _value(self, depth: int) -> str:
        """Read a filter's value: a word, or what stands in quotes."""
        end = self._quote_end()
        if end >= 0:
            value, self.at = self.text[self.at + 1 : end], end + 1
            return value
        return self._word(depth)

    def _atoms(self, depth: int, field: int | None, start: int | None, negative: bool) -> list[tuple[Atom, bool]]:
        """Return (atom, whether a hit has to hold it) of a word or phrase."""
        end = self._quote_end()
        if end >= 0:
            inside, self.at = self.text[self.at + 1 : end], end + 1
            found = self._readings(inside)
            if "*" in inside:
                self._warn("'*' means nothing inside quotes")
            slop = self._slop()
            written = ""
            bare = field is None and not negative
            if bare and not self.excludes:
                self._note_literal(" ".join(inside.split()), found)
                if slop and literal_of(" ".join([word.rstrip(_ENDING) for word in inside.split()])):
                    self._warn("in a phrase with a gap symbols do not count, only letters and digits")
            else:
                written = self._written(" ".join(inside.split()), found, negative or self.excludes, slop)
            if not found and not written:
                return []
            if written:
                return [(Atom(found, field, written=written), not bare)]
            if max(map(len, found)) == 1 and field is None and not negative:
                return [(Atom(found), False)]
            return [(Atom(found, field, slop), True)]
        if self.text[self.at] in OPENING:
            if CLOSING.find(self.text[self.at]) < 0 or self.text[self.at] == '"':
                self._warn("a quote is never closed")
            self.at += 1
            return []
        word = self._word(depth)
        if word.endswith("*") and len(cut := words(word)) == 1:
            if len(cut[0]) >= 2 or is_unspaced(cut[0]):
                begun = [[folded(cut[0], rules)] for rules in self.rules]
                is_prefix = self._may_demand()
                also = _stems_of_longer(cut[0], begun, self.rules) if is_prefix else ()
                return [(Atom(begun, field, 0, is_prefix, also=also), is_prefix and field is not None)]
            self._warn("'*' needs two letters before it")
        if field is not None or negative or (self.excludes and not word.isalnum()):
            found = self._readings(word)
            written = self._written(word, found, negative or self.excludes, 0)
            return [(Atom(found, field, written=written), field is not None or negative)] if found or written else []
        if not word.isalnum():
            self._note_literal(word, self._readings(word))
        stop = word.casefold().strip(PUNCTUATION) in self.stop_words
        if len(self.rules) == 1 and self.stop_words is STOP_WORDS:
            plain = terms(word, self.rules[0])
            n_content = len(plain) - _n_stops(word, len(plain))
            return [(Atom(((term,),), stop=number >= n_content), False) for number, term in enumerate(plain)]
        # Where articles are elided (`l'eau`), each word of it is looked at.
        apart = self.stop_words is not STOP_WORDS
        atoms = []
        for piece in words(word):
            is_stop = stop or (apart and piece.casefold() in self.stop_words)
            found = [word_terms(piece, rules) for rules in self.rules]
            for n in range(max(map(len, found))):
                atoms.append((Atom([[one[n]] for one in found if n < len(one)], stop=is_stop), False))
        return atoms

    def _readings(self, text: str) -> list[list[str]]:
        """Return the terms of a text in each language; nothing when it has none."""
        return [found for rules in self.rules if (found := terms(text, rules))]

    def _note_literal(self, written: str, found: Sequence[Sequence[str]]) -> None:
        """Note what is to be looked for as it is written, too."""
        if len(written) <= MAX_LITERAL and len(self.query.literals) < MAX_LITERALS and (literal := literal_of(written)):
            self.query.literals[literal] = tuple(map(tuple, found))

    def _written(self, text: str, found: Sequence[Sequence[str]], negative: bool, slop: int) -> str:
        """Return what of a word or phrase behind a field or in an exclusion has to stand as it is written; "" when its terms do.

        Says what cannot be looked for so.
        """
        # A comma or a full stop of a phrase says nothing.
        if found and not literal_of(" ".join([word.rstrip(_ENDING) for word in text.split()])):
            return ""
        literal = literal_of(text) if len(text) <= MAX_LITERAL and self.n_written and not slop else ""
        where = "in an exclusion" if negative else "behind a field"
        shown = shortened(text, MAX_SHOWN)
        if found and not literal:
            self._warn(f"{where} the symbols of '{shown}' do not count, only its letters and digits")
        elif not literal:
            self._warn(f"{where} '{shown}' has no letter or digit to look for: it is passed over")
        elif not found and not negative:
            self._note_literal(text, found)
            self.demanded.add(literal)
        self.n_written -= bool(literal)
        return literal

    def _quote_end(self) -> int:
        """Return where the phrase that opens here ends, -1 when none opens or it never ends."""
        text, start = self.text, self.at
        if start >= len(text) or text[start] not in OPENING:
            return -1
        closing = CLOSING[OPENING.index(text[start])]
        end = min(self._find_next(closing, start + 1), self._find_next('"', start + 1))
        return end if end < len(text) else -1

    def _find_next(self, char: str, start: int) -> int:
        """Return where a character stands next. In all, the text is gone through once for each."""
        known = self._next.get(char, -1)
        if known < start:
            known = self.text.find(char, start)
            self._next[char] = known = known if known >= 0 else len(self.text)
        return known

    def _slop(self) -> int:
        """Step over `~N` after a phrase."""
        text = self.text
        end = self.at + 1
        while end < len(text) and text[end].isdecimal() and text[end].isascii() and end - self.at <= 6:
            end += 1
        if text[self.at : self.at + 1] != "~" or end == self.at + 1:
            return 0
        slop, self.at = int(text[self.at + 1 : end]), end
        return min(slop, MAX_SLOP)

    def _word(self, depth: int) -> str:
        """Read up to a blank, or, inside a group, up to the parenthesis that ends it."""
        text, start = self.text, self.at
        opened = 0
        while self.at < len(text) and not text[self.at].isspace():
            char = text[self.at]
            if char == "(":
                opened += 1
            elif char == ")":
                if depth and not opened:
                    break
                opened -= 1
            self.at += 1
        return text[start : self.at]

    def _warn(self, why: str) -> None:
        if why not in self.query.warnings:
            self.query.warnings.append(why)


def _stems_of_longer(word: str, begun: list[list[str]], rules: Sequence[str]) -> list[str]:
    """Return the terms of words that begin as `word` does, where the terms do not: stems are shorter (`category`: `categori`)."""
    from git_kb.text.beginnings import stems_of_longer

    found: set[str] = set()
    for (beginning,), rule in zip(begun, rules, strict=True):
        if not rule and beginning.isascii() and beginning.isalpha():
            found.update(stems_of_longer(beginning))
        else:
            found.update(term for term in word_terms(word, rule)[:1] if not term.startswith(beginning))
    return sorted(found)


def _n_stops(word: str, n_terms: int) -> int:
    """Return how many of a word's terms, from its end, are function words: all, none, or what `'s` and the like leaves."""
    word = word.casefold().strip(PUNCTUATION).replace("\u2019", "'")
    if word in STOP_WORDS:
        return n_terms
    head, apostrophe, tail = word.rpartition("'")
    if not apostrophe or tail not in CONTRACTED:
        return 0
    return n_terms if head in STOP_WORDS or (tail == "t" and head.endswith("n")) else 1


def _by_place(readings: Sequence[Sequence[str]]) -> list[list[list[str]]]:
    """Return, for each place of a word's terms, the readings of one term that stand there."""
    return [[[one[n]] for one in readings if n < len(one)] for n in range(max(map(len, readings), default=0))]


def literal_of(written: str) -> str:
    """Return what of a word or phrase to look for as it is written: `C++`, `foo(` for `foo()`. "" when its terms say it all."""
    text = written
    if any(char.isalnum() for char in text):
        text = text.rstrip(_ENDING).strip(_QUOTES)
        if text.endswith(")") and text.count(")") > text.count("("):
            text = text[:-1].rstrip(_ENDING)
        # What stands between the parentheses of a call is no part of its name.
        text = text.removesuffix("()") + "(" if text.endswith("()") else text
    return text if any(_is_symbol(text, at) for at in range(len(text))) or (text and not text.strip("_")) else ""


def _is_symbol(text: str, at: int) -> bool:
    """Return whether the character at a place of a text says something that terms do not."""
    char = text[at]
    if (
        char.isalnum()
        or char.isspace()
        or char == "_"
        or (char in "-'’" and text[at - 1 : at].isalnum() and text[at + 1 :][:1].isalnum())
    ):
        return False
    if char.isascii():
        return char.isprintable()
    from unicodedata import category

    return category(char)[0] == "S"


def _is_mark(text: str) -> bool:
    return len(text) == 1 and text.isascii()
