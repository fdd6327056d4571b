"""All settings are in setup.cfg. Completion files are made of the parsers here, before setuptools looks for its data files."""

import os
import sys

from setuptools import setup

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from git_kb.cli.completion import files  # noqa: E402

for name, text in files().items():
    path = os.path.join(HERE, "build", "completion", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)

setup()
