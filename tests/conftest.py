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


@pytest.fixture(autouse=True)
def sealed_world(tmp_path_factory, monkeypatch):
    """Each test has an empty HOME, no system or global git configuration and no GIT_* of the caller's."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "XDG_", "KB_")):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        **IDENT,
    }.items():
        monkeypatch.setenv(name, value)
