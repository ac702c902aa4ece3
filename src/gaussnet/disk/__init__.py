"""Files as such: bytes and text in, whole files out, lines of comma-separated cells."""
