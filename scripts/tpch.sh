#!/bin/bash
# Makes .venv-tpch, the environment with TPC-H's generator of tables, which a figure of the benchmarks reads.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.venv-tpch

[ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip --disable-pip-version-check --quiet install -r requirements/tpch.in
echo "tpch: ready: $("$folder/bin/tpchgen-cli" --version)" >&2
