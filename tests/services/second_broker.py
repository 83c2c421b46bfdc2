"""A second Kafka broker beside one of services.sh, for partitions that move from one broker to another."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient

NUMBER = 2
_JARS = Path(__file__).resolve().parents[2] / ".services" / "kafka" / "installed" / "*"
_OF_THE_FIRST = ("controller.", "listener.security.", "offsets.", "transaction.", "group.", "auto.")


@contextmanager
def second_broker(first: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Broker 2 of the cluster whose first one lies in a folder of services.sh, for as long as it is not killed."""
    told = dict(line.split("=", 1) for line in (first / "server.properties").read_text().splitlines())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}"
    own = {"node.id": NUMBER, "process.roles": "broker", "listeners": address, "log.dirs": folder / "data"}
    settings = {name: value for name, value in told.items() if name.startswith(_OF_THE_FIRST)} | own
    properties = folder / "server.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    identity = dict(
        line.split("=", 1) for line in (first / "data" / "meta.properties").read_text().splitlines() if "=" in line
    )["cluster.id"]
    java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", str(_JARS)]
    format_ = [*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(properties)]
    subprocess.run(format_, check=True, capture_output=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log)
    try:
        client = AdminClient({"bootstrap.servers": told["advertised.listeners"].removeprefix("PLAINTEXT://")})
        until = time.monotonic() + 60
        while NUMBER not in client.list_topics(timeout=10).brokers:
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until
            time.sleep(0.2)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(30)
