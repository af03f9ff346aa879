"""The interactive explorer, a page served on this machine: ``morello-layouts explore``.

``answer`` turns a question into plain values, ``worker`` runs it in a process with a deadline,
``server`` serves the page, and ``static`` holds its files.
"""
