"""Find the layout of another notation that has the same offsets."""
