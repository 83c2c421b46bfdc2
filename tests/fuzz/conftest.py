"""Random programs look for new mistakes, so a run of them may find one: they run when asked, not in every suite.

`PENSTOCK_FUZZ=1 make test ARGS=tests/fuzz` runs the short version, `make fuzz` the long one. The property tests of the
operators (tests/spark) are in every suite.
"""

import os

if not os.environ.get("PENSTOCK_FUZZ"):
    collect_ignore_glob = ["test_*.py"]
