"""From source text to chunks and tokens. No git, no files, no clock."""
