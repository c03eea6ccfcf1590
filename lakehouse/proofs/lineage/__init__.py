"""What a snapshot was made from: as declared, as sealed, as Spark read it; and whether all of it is of one vintage.

`plan` traces a Spark frame to the tables and columns that it reads; `reads` compares that with what is declared and
sealed; `vintage` follows the seals upwards; `dates` proves the runtime date from manifests.
"""
