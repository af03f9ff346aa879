"""The public functions: each takes text, layouts and index maps alike."""
