"""Exercises of the second notebook: packing, and even elements before odd ones."""

from __future__ import annotations

from morello_layouts.exercises.exercise import Exercise

__all__ = ["bytes_of_words", "channels_last", "each_term_once", "evens_first", "strips"]

strips = Exercise(
    "A matrix of 6 rows and 8 columns lies in two strips of 3 rows, one after the other. Inside of "
    "a strip one column follows the other. Which layout is that?",
    (6, 8),
    "[0, 1, 0 p(3)]",
    names=("i", "j"),
    hint="Which dimension is cut? What comes last in the list is fastest: two neighbours in "
    "memory are neighbours in a column.",
)

each_term_once = Exercise(
    "A matrix of 6 rows and 8 columns has, from slow to fast, the physical dimensions "
    "`(0, Dynamic), (1, Dynamic), (0, Packed(2))`. Write the offset of element `(i, j)` as three "
    "terms, one for each.",
    (6, 8),
    "16*(i//2) + 2*j + i%2",
    names=("i", "j"),
    hint="Begin with the packed one. How many elements are inside of the next?",
)

channels_last = Exercise(
    "An image of 1 by 8 channels by 2 rows by 3 columns, `(n, c, h, w)`, is to have all channels "
    "of a pixel next to each other, and its pixels row by row. Which layout is that?",
    (1, 8, 2, 3),
    "[0, 2, 3, 1]",
    names=("n", "c", "h", "w"),
    hint="List the dimensions from slow to fast. No dimension is cut.",
)

evens_first = Exercise(
    "Sixteen elements lie in two groups of eight, and each group has its even elements before its "
    "odd ones. Where does element `d` lie? Write a formula.",
    (16,),
    "8*(d//8) + 4*(d%2) + (d//2)%4",
    names=("d",),
    hint="Three digits: which group, even or odd, and which of the four.",
)

bytes_of_words = Exercise(
    "A word of 32 bits holds four elements of 8 bits. A register holds eight words, so elements "
    "0 to 31. Shifts and masks give four registers: the first has element 0 of each word, the "
    "second element 1 of each, and so on. They are stored one after the other. "
    "Where does element `d` lie?",
    (32,),
    "8*(d%4) + d//4",
    names=("d",),
    hint="Which element of its word is `d`, and which word is that?",
)
