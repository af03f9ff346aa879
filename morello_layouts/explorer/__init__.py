"""One page on this machine that answers what is typed: ``morello-layouts explore``.

``answer`` turns a question into plain values; ``worker`` does that in processes that a deadline
ends; ``server`` is what a browser speaks to; ``static`` holds the page.
"""
