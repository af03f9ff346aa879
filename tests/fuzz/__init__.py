"""Long random runs with judges of their own, started by hand."""
