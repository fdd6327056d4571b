"""Clusters of Thai, Lao, Khmer and Burmese: what takes the place of a character there. docs/format-index.md, "Terms".

A cluster is a consonant with the signs around it, a syllable or most of one (for Thai: Theeramunkong et al. 2000, "Character
cluster based Thai information retrieval").

On the search path of such words: no `re` here.
"""

from __future__ import annotations

# Thai and Lao vowels written before the consonant they follow, and those written behind it that are no combining marks.
_LEADING = frozenset("เแโใไເແໂໃໄ")
_FOLLOWING = frozenset("ะาำๅະາຳ")
# What puts the next consonant below this one: Burmese virama, Khmer coeng. And the Burmese sign that closes a syllable.
_STACKING = frozenset("\u1039\u17d2")
_ASAT = "\u103a"


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
