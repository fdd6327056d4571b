"""From sources to sections, manifests and a warm index."""
