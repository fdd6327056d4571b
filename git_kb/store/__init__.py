"""Where bytes live: the section pool, manifests, configuration."""
