"""Seals the world: no user's git configuration, fixed dates and identity, no editor, no prompts."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("night", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

IDENT = {
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_AUTHOR_DATE": "1700000000 +0100",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_COMMITTER_DATE": "1700000100 +0100",
}


# What a test keeps of the caller's environment: where programs and libraries are, and what the tools that run the tests need.
# All else goes: a terminal's, a hook's or a CI server's variables (CI, TERM, NO_COLOR, GIT_DIR, ...) would change what is done.
KEPT = {"PATH", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "GIT_KB_HISTORIES", "GIT_KB_DRIVER_HISTORIES"}
KEPT_PREFIXES = ("PYTHON", "PYTEST", "COV_", "COVERAGE", "HYPOTHESIS")

SEALED = {
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    **IDENT,
}

# At once, since a fixture of a module is made before those of a test.
for name in list(os.environ):
    if name not in KEPT and not name.startswith(KEPT_PREFIXES):
        del os.environ[name]
os.environ.update(SEALED)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Each test has an empty HOME of its own."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
