"""git-kb: a searchable, citable knowledge base inside any git repository."""

__version__ = "0.1.0"
