"""Jobs that check a knowledge base on a CI server: `git kb init --ci`. docs/ci.md."""

from __future__ import annotations

import os

from git_kb.errors import KbError
from git_kb.repo.discover import NeedsWorkTree, Place
from git_kb.repo.lockfile import atomic_write
from git_kb.repo.regular import read_regular
from git_kb.store.create import OutsideLink

# The checks, one shell command each. The first brings sections that were pushed, where they were; the second makes the others again
# from their sources.
STEPS = (
    "git fetch origin refs/kb/sections:refs/kb/sections || true",
    "git kb index --quiet",
    "git kb fsck",
    "git kb status --exit-code",
)
INSTALL = "pip install 'git-kb[code]'"
_GITHUB = f"""\
# By 'git kb init --ci github', and yours from here on.
name: knowledge base
on:
  push:
  pull_request:
permissions:
  contents: read
jobs:
  git-kb:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: {INSTALL}
"""
_GITLAB = f"""\
# By 'git kb init --ci gitlab', and yours from here on.
git-kb:
  image: python:3.12
  variables:
    GIT_DEPTH: "0"
  before_script:
    - {INSTALL}
  script:
"""
# Name -> (file, text).
JOBS = {
    "github": (".github/workflows/git-kb.yml", _GITHUB + "".join(f"      - run: {step}\n" for step in STEPS)),
    "gitlab": (".gitlab-ci.yml", _GITLAB + "".join(f"    - {step}\n" for step in STEPS)),
}


class ForeignJob(KbError):
    """A file that is not as we would write it stands where the job belongs. `text` is what would have been written."""

    exit_code = 1
    hint = "put the job that is printed into it, or into a file of its own"

    def __init__(self, path: str, text: str):
        self.path, self.text = path, text
        super().__init__(f"'{path}' is there already, and was left as it is")


def write_job(place: Place, server: str) -> str:
    """Write the job for a CI server (a key of JOBS). Returns the path written, "" when it was there.

    Raises NeedsWorkTree, OutsideLink, ForeignJob, CannotWrite.
    """
    if place.work_tree is None:
        raise NeedsWorkTree(place.git_dir)
    path, text = JOBS[server]
    full = os.path.join(place.work_tree, path)
    above = ""
    for part in path.split("/")[:-1]:
        above = os.path.join(above, part)
        if os.path.islink(os.path.join(place.work_tree, above)):
            raise OutsideLink(above)
    if os.path.lexists(full):
        try:
            same = read_regular(full) == text.encode()
        except OSError:
            same = False
        if not same:
            raise ForeignJob(path, text)
        return ""
    os.makedirs(os.path.dirname(full), exist_ok=True)
    atomic_write(full, text.encode())
    return path
