"""The example of an online shop: its answers in PostgreSQL are the database's own, and Delta Lake has the rest."""

import subprocess
import sys
from pathlib import Path

from deltalake import DeltaTable

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop" / "shop.py"


def test_the_shop_answers_what_its_database_answers(kafka, postgres, tmp_path):
    command = [sys.executable, SHOP, "--seconds", "25", "--folder", tmp_path]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.splitlines()[:3] == ["unpaid: right", "best_sellers: right", "late_clicks: right"]
    customers = DeltaTable(tmp_path / "lake" / "customers").to_pyarrow_table()
    assert 1 <= customers.num_rows <= 5
    assert DeltaTable(tmp_path / "lake" / "visits").schema().fields[0].name == "customer"
