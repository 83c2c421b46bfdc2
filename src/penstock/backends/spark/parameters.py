"""Constants that are others in each step, such as waterlines, kept out of the code that Spark generates.

Spark writes the value of a number or a time into the Java code of an operator. A new value is then a new class:
compiled, interpreted row by row and optimised by the JVM anew, at every step, for code that only differs in that value.
An array is handed to the code from outside; so the constant is put into one, from which each row takes it.
"""

from __future__ import annotations


def as_parameter(constant: str, beside: str) -> str:
    """The constant as Spark SQL whose generated code is the same for each value.

    Spark would evaluate an array's element ahead if it knew which one it is, so that depends on `beside`, any
    expression over the rows that is not a MAP; both elements are the constant.
    """
    return f"array({constant}, {constant})[hash({beside}) & 1]"
