"""From how many rows on a step does something else: what is small stays on the driver, what is large on the executors.

These are defaults or fixed sizes, measured on two cores; docs/adr/0002 has the first two.
"""

from __future__ import annotations

# A change of at most so many rows lives on the driver as an Arrow table, where a further step can use it without
# a Spark job; what is larger stays on the executors.
DRIVER_ROWS = 50_000
# The newest part of a trace stays on the driver up to this size.
MEMORY_ROWS = 20_000
# What is given to Spark anew at each step is at most so many rows, or such a share of those on the driver.
NEWEST_ROWS, NEWEST_SHARE = 512, 8
# While it plans, Spark interprets expressions; for more rows than this, compiling them and running a job is faster.
PLANNED_ROWS = 2_000
# A relation of at most so many rows is sent to every executor to meet a trace; a larger one is exchanged.
BROADCAST_ROWS = 200_000
# A layer of so many rows that a merge would only copy waits until there are sixteen of its tier.
LARGE_LAYER_ROWS = 200_000
# Below twice so many rows a trace is not worth a Spark job to make it smaller.
LEAST_COLLECTED_ROWS = 4_096
