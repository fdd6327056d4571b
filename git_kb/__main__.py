"""`python -m git_kb`."""

import sys

from git_kb.cli.main import main

sys.exit(main())
