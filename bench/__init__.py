"""What Penstock costs, measured: `make bench`, or `python -m bench --quick` to see that every figure still runs."""
