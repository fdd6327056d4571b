"""Terms of Thai, Lao, Khmer and Burmese, which put no spaces between words. docs/format-index.md, "Terms".

The unit is not the character but the cluster: a consonant with the signs around it, a syllable or most of one (for Thai:
Theeramunkong et al. 2000, "Character cluster based Thai information retrieval"). Each cluster is a term, since many words are
one, and so is each pair of neighbours, which tells words apart.

On the search path of such words: no `re` here.
"""

from __future__ import annotations

from itertools import pairwise

# Thai and Lao vowels written before the consonant they follow, and those written behind it that are no combining marks.
_LEADING = frozenset("เแโใไເແໂໃໄ")
_FOLLOWING = frozenset("ะาำๅະາຳ")
# What puts the next consonant below this one: Burmese virama, Khmer coeng. And the Burmese sign that closes a syllable.
_STACKING = frozenset("\u1039\u17d2")
_ASAT = "\u103a"


def cluster_terms(run: str) -> list[str]:
    """Return the terms of an unspaced run: each cluster, and after each but the last one the pair it makes with the next."""
    found = clusters(run)
    terms = [found[0]]
    for a, b in pairwise(found):
        terms += (a + b, b)
    return terms


def clusters(run: str) -> list[str]:
    """Return the clusters of a run that is not empty, in order; joined they are the run."""
    from git_kb.text.words import is_mark

    found: list[str] = []
    leading = False
    for i, char in enumerate(run):
        if not found:
            joins = False
        elif leading or is_mark(char):
            joins = True
        elif char in _FOLLOWING:
            joins = found[-1][-1] not in _LEADING
        else:
            # A consonant below another one, or the last one of a Burmese syllable.
            joins = run[i - 1] in _STACKING or run[i + 1 : i + 2] == _ASAT
        if joins:
            found[-1] += char
        else:
            found.append(char)
        leading = char in _LEADING
    return found
