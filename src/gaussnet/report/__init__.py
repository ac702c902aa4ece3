"""Pages that tell what was found, each one file."""
