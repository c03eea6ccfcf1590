"""What a value of `extra` must look like to be read as the type that its column was declared with later.

Engines read texts differently: to Spark "t" is true and " 12 " is 12, to others they are not. So the form is decided
first, by these patterns, and means the same to the step and to the proof. They are whole in Java's and Rust's syntax.
"""

BOOLEAN = r"\A(true|false)\z"
INTEGER = r"\A-?(0|[1-9][0-9]*)\z"
FLOATING = r"\A(NaN|-?Infinity|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)\z"
