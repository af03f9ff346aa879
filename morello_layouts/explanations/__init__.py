"""What is said of one layout: values, rows of text, plain values for JSON.

The command ``explain`` and the explorer read the same reports.
"""
