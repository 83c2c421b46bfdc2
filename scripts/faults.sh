#!/bin/bash
# Installs what tests of faults want, where the machine's packages can be installed: a clock that jumps (faketime), and
# calls of the system that fail (fiu-run). Tests of what is not there are skipped, and say so.
set -euo pipefail
wanted=()
command -v faketime > /dev/null || wanted+=(faketime)
command -v fiu-run > /dev/null || wanted+=(fiu-utils)
[ ${#wanted[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
  echo "faults: ${wanted[*]} cannot be installed here; on Debian: apt-get install ${wanted[*]}" >&2
  exit 1
fi
apt-get install -y -q "${wanted[@]}" > /dev/null || { apt-get update -q > /dev/null && apt-get install -y -q "${wanted[@]}" > /dev/null; }
