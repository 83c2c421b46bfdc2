"""One running operator a file; `make` chooses."""
