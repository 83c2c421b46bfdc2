"""starting_*: what a command leaves out to start quickly, in processes of their own."""

import subprocess
import sys

_RUN = """
import sys
from penstock.cli.main import main
try:
    main(["run", "--once", "program.sql"])
except SystemExit as end:
    assert end.code == 0, end.code
assert "pandas" not in sys.modules
"""
_PANDAS_LATER = """
import sys, pyarrow as pa
from penstock.cli.starting import leave_pandas
leave_pandas()
assert "pandas" not in sys.modules
import pandas as pd
frame = pd.DataFrame({"x": [1.5, None], "d": pd.to_datetime(["2024-01-01", None])})
print(pa.Table.from_pandas(frame, preserve_index=False).to_pylist())
from penstock import Pipeline
with Pipeline("CREATE TABLE t (x DOUBLE, d TIMESTAMP); CREATE VIEW v AS SELECT x, d FROM t") as pipeline:
    pipeline.step({"t": frame})
    print(sorted(pipeline.query("SELECT * FROM v").rows, key=repr))
"""


def ran(code, folder):
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_over_a_small_file_loads_no_pandas(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.csv").write_text("id,x\n1,2\n")
    (tmp_path / "program.sql").write_text(
        "CREATE TABLE t (id INT, x INT) WITH ('connector' = 'files', 'path' = 'rows', 'format' = 'csv');"
        "CREATE VIEW v AS SELECT id, sum(x) AS s FROM t GROUP BY id;"
    )
    assert ran(_RUN, tmp_path) == "step 1  v  +1  (1, 2)\n"


def test_pandas_that_comes_later_is_read(tmp_path):
    assert ran(_PANDAS_LATER, tmp_path).splitlines() == [
        "[{'x': 1.5, 'd': datetime.datetime(2024, 1, 1, 0, 0)}, {'x': None, 'd': None}]",
        "[(1.5, datetime.datetime(2024, 1, 1, 0, 0)), (None, None)]",
    ]
