"""Git itself: objects, refs, trees, work tree, behind one protocol with two bodies."""
