"""The ranking that a knowledge base has agreed on: `ranking` in the `kb.config.json` of its work tree.

On the search path, where JSON is not parsed for a file that says nothing of ranking.
"""

from __future__ import annotations

import os

from git_kb.repo.regular import read_regular
from git_kb.search.score import DEFAULTS
from git_kb.store.root import CONFIG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place
    from git_kb.search.score import Parameters


def agreed_parameters(place: Place) -> Parameters:
    """Return the parameters of the work tree's configuration; the defaults without one. Raises BadConfig."""
    if place.work_tree is None:
        return DEFAULTS
    try:
        data = read_regular(os.path.join(place.work_tree, CONFIG))
    except FileNotFoundError:
        return DEFAULTS
    except OSError as e:
        from git_kb.store.config import BadConfig

        raise BadConfig.unreadable(e) from None
    # A key may be written with escapes. What is cut short, or was left in conflict, is told though it says nothing of ranking.
    plain = data[:1] == b"{" and data.rstrip()[-1:] == b"}" and b"\n<<<<<<<" not in data
    if plain and b"ranking" not in data and b"\\u" not in data:
        return DEFAULTS
    from git_kb.store.config import parse_config

    values = parse_config(data).ranking
    return DEFAULTS.changed(values) if values else DEFAULTS
