"""The stems of English words that begin in some way, where the stems do not."""

from git_kb.text.stems import stem

# What English words end in that Porter2 takes off, maybe with letters before it.
_ENDINGS = (
    "es ed er ers ing ings ional ationally ors ator ators ively iveness ies ied ier iest ically ality alities ances "
    "ences ants ents ably ability ibility ments nesses fulness fully less ly ousness ously isms ists icity ities izer "
    "izers izes ized izing ization izations ise ises ised ising isation isations ates ated ating"
)
# A word may break off within its ending.
TAILS = sorted({ending[at:] for ending in _ENDINGS.split() for at in range(len(ending))})


def stems_of_longer(beginning: str) -> list[str]:
    """Return the stems, shorter than it or other than it goes on, of a word and of words that begin with it: `category`, `paginat`.

    Longer ones begin with it, so they can be found in an index by that.
    """
    found = {stem(beginning), *(stem(beginning + ending) for ending in TAILS)}
    return sorted(one for one in found if not one.startswith(beginning) and len(one) > 1)
