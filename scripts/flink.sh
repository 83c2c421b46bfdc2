#!/bin/bash
# Makes .venv-flink, the environment in which the benchmarks run Flink SQL. Flink wants a JDK; its Parquet format, Maven.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.venv-flink

say() { echo "flink: $*" >&2; }

for tool in javac mvn; do
  command -v "$tool" >/dev/null || { say "$tool is not there. On Debian: apt-get install default-jdk-headless maven"; exit 1; }
done
say "installing apache-flink into $folder (a few minutes: it is large)"
[ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip --disable-pip-version-check --quiet install -r requirements/flink.in
say "ready: $("$folder/bin/python" -m pip show apache-flink | sed -n 's/^Version: //p')"
