"""Resharding: what must move between two shardings of one array, and how it moves."""
