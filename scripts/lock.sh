#!/bin/bash
# Resolves requirements/*.txt anew: pinned versions and hashes, and nothing of the machine that did it.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv-lock/bin
[ -x $bin/pip-compile ] || { "${PYTHON:-python3.11}" -m venv .venv-lock && $bin/pip install --quiet 'pip-tools>=7.5'; }
unset PIP_FIND_LINKS PIP_INDEX_URL PIP_EXTRA_INDEX_URL

compile() {
  CUSTOM_COMPILE_COMMAND="make lock" "$bin/pip-compile" --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --annotation-style line "$@"
}

compile --output-file requirements/build.txt requirements/build.in
extras=(dev demo kafka postgres lake formats http metrics tracing)
compile --output-file requirements/dev.txt --constraint requirements/pins.in "${extras[@]/#/--extra=}" pyproject.toml
compile --output-file requirements/jvm.txt requirements/jvm.in
