"""From how many rows on a step does something else: what is small stays on the driver, what is large on the executors.

These are defaults or fixed sizes, measured on two cores; docs/adr/0002 has the first two.
"""

from __future__ import annotations

# Where rows lie.

# A change of at most so many rows lives on the driver as an Arrow table, where a further step can use it without
# a Spark job; what is larger stays on the executors.
DRIVER_ROWS = 50_000
# The newest part of a trace stays on the driver up to this size.
MEMORY_ROWS = 20_000
# What is kept beside traces (contents of views, steps of the log, keys of tables) stays on the driver up to this size.
HELD_ROWS = 100_000
# So many rows for a table that lies in DuckDB are folded by statements; fewer are folded faster one by one.
MANY_ROWS = 500
# A change in DuckDB of more rows is dropped when the step ends; a smaller one lies until the next one replaces it.
LYING_ROWS = 50_000

# Of an operator in DuckDB that has been given so many rows, what a view hands out is made as Arrow at once; of fewer it
# is a table first, from which its content is kept too (docs/adr/0026, 0032).
HANDED_ROWS = 5_000

# Before keys are looked for among so many rows, it is asked whether one of them is NULL: if not, that is quicker.
LARGE_STATE_ROWS = 200_000

# What rows add up to, value by value, is kept beside them where there are so many times as many rows.
KEPT_VALUES = 16

# How the rows of a DataFrame come into the process.

# Partitions are taken so many at a time as fill a window of these bytes, and at least one for each core.
LEAST_WINDOW_BYTES, MOST_WINDOW_BYTES = 4 << 20, 64 << 20
# Rows of more bytes lie in a file that memory maps, from the moment on when they are.
MAPPED_BYTES = 64 << 20

# How rows are looked up by key in the process.

# More keys at once are found by one pass over the rows, and not one by one.
INDEXED_KEYS = 100
# So many keys, in all, are found by a pass each, before an index is made, which costs about as much.
PASSES_BEFORE_INDEX = 16

# How Spark is given them.

# What is given to Spark anew at each step is at most so many rows, or such a share of those on the driver.
NEWEST_ROWS, NEWEST_SHARE = 512, 8
# While it plans, Spark interprets expressions; for more rows than this, compiling them and running a job is faster.
PLANNED_ROWS = 2_000
# A relation of at most so many rows is sent to every executor to meet a trace; a larger one is exchanged.
BROADCAST_ROWS = 200_000

# When what is kept is gone through.

# Layers on the executors are merged when there are more: between steps, and within a step that goes round by round.
TRACE_LAYERS, ROUND_LAYERS = 4, 8
# So many pieces of the log are in memory before they become one file.
LOG_PIECES = 64
# A layer of so many rows that a merge would only copy waits until there are sixteen of its tier.
LARGE_LAYER_ROWS = 200_000
# Below twice so many rows a trace is not worth a Spark job to make it smaller.
LEAST_COLLECTED_ROWS = 4_096
# Below twice so many entries there is nothing to win by forgetting some of those that the process keeps.
LEAST_FORGOTTEN_ROWS = 10_000
# A table of DuckDB is merged when it has twice as many rows as after the last time, and twice so many: an answer that
# each step replaces must not pile up, for joins multiply what cancels.
LEAST_MERGED_ROWS = 64
# Deleted rows take room in it until it is written anew: when they are as many as those that are left, and so many.
LEAST_DELETED_ROWS = 100_000

# How layers are merged and added up.

# A large layer is not merged before there are two to the power of so many in its tier.
TIER_BITS = 4
# Where each row stands so often on average, adding rows up is worth it.
REPEATED = 2
# With so many times as many rows as before a merge adds up again, to see whether rows repeat.
JUDGED_AGAIN = 4
# So many layers of a trace are on the driver: most of its rows, and the newest.
DRIVER_LAYERS = 2
# Of what the driver may hold, adding up must leave no more than one part of so many.
RELIEF = 2

# What an operator on Spark expects before it has seen how much comes.

# Matches that a row finds in a join, rows of a touched key, rows of the sessions that one row touches, rows that a
# generator gives for one.
MATCHES, ROWS_OF_KEY, ROWS_OF_SESSIONS, GENERATED = 4, 8, 32, 4
# What Arrow adds up is not handed to Spark, so of touched rows so many times more may stay on the driver.
ADDED_UP_ROOM = 3
# Candidates of first rows that are kept beyond twice those shown.
SPARE_CANDIDATES = 1_000
# From so many rows of a change for each group of the state on, adding it up first saves exchange.
FEW_GROUPS = 4
# A change above one part of so many of the state rewrites it in one pass.
REWRITE_SHARE = 4
# A file of a snapshot has so many rows: fewer are not worth one of their own, which is put on the disk by itself.
FILE_ROWS = 250_000

# How new views are filled beside those at work.

# A piece has so many rows at first, and never more.
FIRST_FILLED_ROWS, MOST_FILLED_ROWS = 2_000, 200_000
# It is not made smaller than this, nor than one part of so many of all, however slow that is, but where this is large.
LEAST_FILLED_ROWS, FILLED_PIECES, LARGEST_FILLED_SHARE = 500, 64, 20_000
# After so many pieces that catch up with what has come meanwhile, what is left is caught up at once.
MOST_CATCHING_UP = 64
