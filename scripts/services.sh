#!/bin/bash
# Installs, starts and stops the real services that tests marked `services` want, each as a process of its own:
#
#   services.sh start [NAME …]    start what is not running, and print each service's address
#   services.sh stop [NAME …]     stop them; what they hold is forgotten
#   services.sh kill NAME         end one as by kill -9; `start` brings it back with what it held, where it was
#   services.sh status            which are running, and where
#   services.sh run COMMAND …     run a command with all of them, and stop those that were not running before
#
# Without names all of scripts/services/*.sh are meant. Each of these files says of one service, by four functions, how
# it is installed (`install`, into $installed, once), begun (`begin`, with its data in $home, on $port of the loopback
# address, its output to $home/log, its process id into $home/pid), asked whether it answers (`answers`), and where it
# is (`address`, on one line). Everything is in .services/; PENSTOCK_SERVICES names another folder, for a second set.
set -euo pipefail
cd "$(dirname "$0")/.."
root=${PENSTOCK_SERVICES:-$PWD/.services}
log_lines=20
seconds=90

say() { echo "services: $*" >&2; }

names() { for file in scripts/services/*.sh; do basename "$file" .sh; done; }

known() {
  [ -f "scripts/services/$1.sh" ] || { say "there is no service $1; there are: $(names | xargs)"; exit 2; }
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# The process of a service, if it is alive and still that one: a number is used again.
running() {
  [ -f "$home/pid" ] && [ -r "/proc/$(cat "$home/pid")/cmdline" ] && grep -qF "$home" "/proc/$(cat "$home/pid")/cmdline"
}

start() {
  if running && answers; then say "$name is running: $(address)"; address; return; fi
  install || { say "$name CANNOT BE INSTALLED: tests that want it will fail"; exit 1; }
  [ -s "$home/port" ] || free_port > "$home/port"
  port=$(cat "$home/port")
  running || begin
  gone=0  # a process that has just begun is the shell's for a moment
  for _ in $(seq $((5 * seconds))); do
    if answers; then say "$name has started: $(address)"; address; return; fi
    if running; then gone=0; else gone=$((gone + 1)); fi
    [ "$gone" -lt 5 ] || break
    sleep 0.2
  done
  say "$name DOES NOT START; the end of $home/log:"
  tail -n "$log_lines" "$home/log" >&2 || true
  exit 1
}

end() {
  if running; then
    kill "-$1" "$(cat "$home/pid")" 2>/dev/null || true
    for _ in $(seq 100); do running || break; sleep 0.1; done
    if running; then kill -9 "$(cat "$home/pid")" 2>/dev/null || true; sleep 0.2; fi
  fi
  rm -f "$home/pid"
}

# One service in a shell of its own, so that no two of them know each other's functions; one call at a time.
with() {
  known "$1"
  (
    name=$1 home=$root/$1 installed=$PWD/.services/$1/installed
    mkdir -p "$home" "$(dirname "$installed")"
    exec 8>"$home/lock"
    flock 8
    port=$(cat "$home/port" 2>/dev/null || true)
    # shellcheck source=/dev/null
    . "scripts/services/$name.sh"
    shift
    "$@"
  )
}

stop() {
  end TERM
  find "$home" -mindepth 1 -maxdepth 1 ! -name installed ! -name lock -exec rm -rf {} +
}

status() { if running && answers; then echo "$name  $(address)"; else echo "$name  not running"; fi; }

is_running() { running && answers; }

run() {
  mine=()
  for one in $(names); do
    with "$one" is_running || { mine+=("$one"); with "$one" start > /dev/null; }
  done
  code=0
  "$@" || code=$?
  for one in ${mine[@]+"${mine[@]}"}; do with "$one" stop; done
  return $code
}

what=${1:-}
[ $# -eq 0 ] || shift
case $what in
  start | stop | status) for one in ${*:-$(names)}; do with "$one" "$what"; done ;;
  run) run "$@" ;;
  kill) with "${1:?which service?}" end 9 ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
esac
