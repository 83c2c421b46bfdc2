"""The shop of shop.sql, with customers: starts the pipeline over a database and a broker, and trades for a while.

    make shop                  a minute; ARGS='--seconds 20' is less

Every two seconds the answers are read where the pipeline writes them. At the end they are compared with what the
database itself answers over all its orders and payments; late clicks are counted against those that were sent so. All
files are in a temporary folder, unless `--folder` says where.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
TABLES = """
CREATE TABLE orders (
  id int PRIMARY KEY, customer text, item text, quantity int, price numeric(10, 2), placed timestamptz DEFAULT now()
);
CREATE TABLE payments (order_id int PRIMARY KEY, amount numeric(12, 2));
"""
UNPAID = """
SELECT o.id, o.customer, o.quantity * o.price FROM orders o
WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id) ORDER BY o.id
"""
BEST = "SELECT item, sum(quantity) FROM orders GROUP BY item ORDER BY 2 DESC, item LIMIT 3"
OURS = {  # what the database answers, and where the pipeline has it
    UNPAID: "SELECT id, customer, amount FROM unpaid ORDER BY id",
    BEST: "SELECT item, sold FROM best_sellers ORDER BY place",
}
TOLD_LATE = "SELECT coalesce(sum(clicks), 0)::int FROM late_clicks"
ITEMS = {"kettle": 39, "lamp": 25, "chair": 89, "mug": 7, "clock": 19, "rug": 120}
CUSTOMERS = ["ann", "bob", "cid", "dora", "eve"]
PAGES = ["home", "search", "item", "basket", "checkout"]
TOPIC = "clicks"
PERIOD, PATIENCE, VISIT, LATE = 2, 60, 3, 0.02


class Traffic:
    """What customers do: click, order, pay, think better of it."""

    def __init__(self, database: psycopg.Connection[Any], broker: str) -> None:
        self.database = database
        self.producer = Producer({"bootstrap.servers": broker})
        self.chance, self.orders = random.Random(7), 0
        self.began, self.late = time.monotonic(), 0

    def moment(self) -> None:
        """A few clicks, and now and then an order, a payment or a cancellation; one click in fifty is very late."""
        for _ in range(self.chance.randint(1, 4)):
            is_late = self.chance.random() < LATE and time.monotonic() - self.began > VISIT * len(CUSTOMERS)
            self.late += is_late
            ago = timedelta(seconds=60 if is_late else self.chance.random())
            self.click(visitor(), self.chance.choice(PAGES), datetime.now(UTC) - ago)
        self.producer.poll(0)
        if self.chance.random() < 0.5:
            self.order()
        if self.orders and self.chance.random() < 0.35:
            self.pay(self.chance.randint(1, self.orders))
        if self.orders and self.chance.random() < 0.05:
            self.cancel(self.chance.randint(1, self.orders))

    def click(self, customer: str, page: str, at: datetime) -> None:
        """A message, in the partition of its customer."""
        value = {"customer": customer, "page": page, "at": at.isoformat()}
        self.producer.produce(TOPIC, json.dumps(value), key=customer)

    def order(self) -> None:
        """A new order."""
        self.orders += 1
        item = self.chance.choice(list(ITEMS))
        values = (self.orders, self.chance.choice(CUSTOMERS), item, self.chance.randint(1, 3), ITEMS[item])
        statement = "INSERT INTO orders (id, customer, item, quantity, price) VALUES (%s, %s, %s, %s, %s)"
        self.database.execute(statement, values)

    def pay(self, order: int) -> None:
        """The payment of an order that is there and has none."""
        statement = """INSERT INTO payments SELECT id, quantity * price FROM orders WHERE id = %s
            ON CONFLICT (order_id) DO NOTHING"""
        self.database.execute(statement, (order,))

    def cancel(self, order: int) -> None:
        """An order goes, if it has not been paid."""
        statement = "DELETE FROM orders WHERE id = %s AND id NOT IN (SELECT order_id FROM payments)"
        self.database.execute(statement, (order,))


def visitor() -> str:
    """Whose turn it is: each customer looks around for three seconds, then the next one does."""
    return CUSTOMERS[int(time.monotonic() / VISIT) % len(CUSTOMERS)]


def services() -> tuple[str, str]:
    """The addresses of a broker and a database, which are started if they are not running."""
    script = HERE.parents[1] / "scripts" / "services.sh"
    found = subprocess.run(
        ["bash", script, "start", "kafka", "postgres"], check=True, stdout=subprocess.PIPE, text=True
    )
    broker, database = found.stdout.split()
    return broker, database


@contextmanager
def shop(broker: str, server: str) -> Iterator[str]:
    """A database and a topic, which are taken away again."""
    forget(server)  # of one that was killed
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE shop")
    address = f"{server.rpartition('/')[0]}/shop"
    admin = AdminClient({"bootstrap.servers": broker})
    if TOPIC not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(30)
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(TABLES)
        yield address
    finally:
        admin.delete_topics([TOPIC])[TOPIC].result(30)
        forget(server)


def forget(server: str) -> None:
    """Drop the database, with the slots by which it was followed."""
    with psycopg.connect(server, autocommit=True) as connection:
        slots = "SELECT slot_name FROM pg_replication_slots WHERE database = 'shop' AND NOT active"
        for (slot,) in connection.execute(slots).fetchall():
            connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
        connection.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")


@contextmanager
def pipeline(folder: Path, database: str, broker: str) -> Iterator[subprocess.Popen[bytes]]:
    """`penstock run shop.sql`, ended as by Ctrl-C."""
    places = {"SHOP_DATABASE": database, "SHOP_BROKER": broker}
    command = [sys.executable, "-m", "penstock.cli.main", "run", HERE / "shop.sql", "--dir", folder / "state"]
    command += ["--engine", "native", "--quiet"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **places}, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def main() -> int:
    """Trade, and compare; 1 if an answer was not the database's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="how long customers come (60)")
    parser.add_argument("--folder", type=Path, help="where the pipeline keeps its state and writes Delta tables")
    given, console = parser.parse_args(), Console(stderr=True)
    broker, server = services()
    with tempfile.TemporaryDirectory() as temporary, shop(broker, server) as database:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with pipeline(folder, database, broker) as process, psycopg.connect(database, autocommit=True) as asked:
            traffic = Traffic(asked, broker)
            trade(console, process, asked, traffic, given.seconds)
            right = settled(process, asked, traffic)
        report(Console(), folder, right)
        if process.returncode not in (0, 130):
            console.print((folder / "log").read_text(encoding="utf-8"), markup=False)
        return 0 if all(right.values()) else 1


def trade(
    console: Console, process: subprocess.Popen[bytes], asked: psycopg.Connection[Any], traffic: Traffic, seconds: float
) -> None:
    """Customers come for so long, while the answers are shown."""
    end, shown = time.monotonic() + seconds, time.monotonic() + PERIOD
    while time.monotonic() < end and process.poll() is None:
        traffic.moment()
        time.sleep(0.05)
        if time.monotonic() > shown:
            shown += PERIOD
            console.print(now(asked, traffic))
    traffic.producer.flush(30)


def now(asked: psycopg.Connection[Any], traffic: Traffic) -> str:
    """A line of the answers as they stand in the database."""
    if not there(asked):
        return f"{traffic.orders} orders; the pipeline is starting"
    (count, amount) = asked.execute("SELECT count(*), coalesce(sum(amount), 0) FROM unpaid").fetchone() or (0, 0)
    best = ", ".join(f"{item} {sold}" for item, sold in asked.execute(OURS[BEST]))
    return f"{traffic.orders} orders; {count} not paid, {amount} in all; selling best: {best}"


def there(asked: psycopg.Connection[Any]) -> bool:
    """True once the pipeline has made its tables."""
    row = asked.execute(
        "SELECT bool_and(to_regclass(t) IS NOT NULL) FROM unnest(ARRAY['unpaid', 'best_sellers', 'late_clicks']) t"
    ).fetchone()
    return bool(row and row[0])


def settled(process: subprocess.Popen[bytes], asked: psycopg.Connection[Any], traffic: Traffic) -> dict[str, bool]:
    """For each answer whether it is the database's own, and those who came late are told of, after all has come."""
    until = time.monotonic() + PATIENCE
    while True:
        right = {ours: there(asked) and same(asked, query, ours) for query, ours in OURS.items()}
        right[TOLD_LATE] = there(asked) and asked.execute(TOLD_LATE).fetchall() == [(traffic.late,)]
        if all(right.values()) or time.monotonic() >= until or process.poll() is not None:
            return right
        time.sleep(0.2)


def same(asked: psycopg.Connection[Any], query: str, ours: str) -> bool:
    """True if both queries have one answer."""
    return asked.execute(query).fetchall() == asked.execute(ours).fetchall()


def report(console: Console, folder: Path, right: dict[str, bool]) -> None:
    """The answers of the end, and whether they are those of the database."""
    for query, is_right in right.items():
        console.print(f"{query.split(' FROM ')[1].split()[0]}: {'right' if is_right else 'NOT RIGHT'}")
    for name in ("customers", "visits"):
        found = DeltaTable(folder / "lake" / name).to_pyarrow_table() if (folder / "lake" / name).is_dir() else None
        if found is None:
            console.print(f"{name}: none yet")
            continue
        table = Table(*found.column_names, title=f"{name}, in Delta Lake: {found.num_rows} rows")
        for row in found.slice(0, 5).to_pylist():
            table.add_row(*(str(value)[:19] for value in row.values()))  # times to the second
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
