"""`python -m git_kb`."""

from git_kb.cli.main import leave, main

leave(main())
