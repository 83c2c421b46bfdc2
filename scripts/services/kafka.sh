# A Kafka broker in KRaft mode, broker and controller in one process, from its jars by Maven (kafka.xml says which).

install() {
  [ -e "$installed/.done" ] && return
  for tool in java mvn; do
    command -v "$tool" >/dev/null || { say "$tool is not there. On Debian: apt-get install default-jre-headless maven"; return 1; }
  done
  say "fetching Kafka into $installed"
  rm -rf "$installed"
  mvn -q -B -f scripts/services/kafka.xml dependency:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$installed" >&2 && touch "$installed/.done"
}

kafka_java() { java -Xmx512m -XX:TieredStopAtLevel=1 -cp "$installed/*" "$@"; }

settings() {
  [ -s "$home/controller" ] || free_port > "$home/controller"
  cat <<END
node.id=1
process.roles=broker,controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$(cat "$home/controller")
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.quorum.voters=1@127.0.0.1:$(cat "$home/controller")
log.dirs=$home/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=100
log.initial.task.delay.ms=500
END
}

begin() {
  settings > "$home/server.properties"
  : > "$home/log"
  if [ ! -e "$home/data/meta.properties" ]; then
    kafka_java kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c "$home/server.properties" >> "$home/log" 2>&1
  fi
  # The lock is not the broker's to keep, and a signal to those who wait for it is not meant for it.
  setsid java -Xmx512m -cp "$installed/*" kafka.Kafka "$home/server.properties" >> "$home/log" 2>&1 8>&- < /dev/null &
  echo $! > "$home/pid"
}

# A port that listens is not a broker that serves: it says so in its log once it does, anew with each start.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && grep -q "Kafka Server started" "$home/log"; }

address() { echo "127.0.0.1:$port"; }
