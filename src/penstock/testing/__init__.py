"""Testing SQL: case files, their runner, and the oracle that recomputes every view from scratch."""
