# A PostgreSQL cluster of its own, with logical decoding, from the server that the machine has (Debian: postgresql).

binaries() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

install() {
  [ -n "$(binaries)" ] && return
  say "there is no PostgreSQL server. On Debian: apt-get install postgresql"
  return 1
}

begin() {
  local bin=$(binaries)
  local owner=()
  # The server refuses to be root, who therefore gives the cluster to the user that Debian's package has made.
  [ "$(id -u)" != 0 ] || owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  touch "$home/log"
  if [ ! -e "$home/data/PG_VERSION" ]; then
    mkdir -p "$home/data"
    [ "$(id -u)" != 0 ] || chown postgres "$home/data"
    "${owner[@]}" "$bin/initdb" -D "$home/data" -U penstock -A trust -E UTF8 --locale=C --no-sync >> "$home/log" 2>&1
  fi
  setsid "${owner[@]}" "$bin/postgres" -D "$home/data" -p "$port" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c wal_level=logical -c max_wal_senders=10 -c max_replication_slots=20 \
    -c max_slot_wal_keep_size=64MB -c fsync=off -c shared_buffers=32MB >> "$home/log" 2>&1 8>&- < /dev/null &
  echo $! > "$home/pid"
}

answers() { "$(binaries)/pg_isready" -q -h 127.0.0.1 -p "$port"; }

address() { echo "postgresql://penstock@127.0.0.1:$port/postgres"; }
