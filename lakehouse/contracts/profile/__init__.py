"""How the values of columns are distributed: measured by Spark, kept per snapshot, compared, and drawn.

The rooms in the order of the story: `axis` (values as positions), `bins` and `statistics` (what is known of a column),
`measure` (Spark), `store` (kept beside the tables), `distance` and `drift` (judged), `sameness` and `conversion`
(converted values), `picture` and `plots` (seen).
"""
