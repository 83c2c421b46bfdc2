"""The events: `{"at": time, "k": key, "x": number}`; at rest they are those of a seed, alive they are of the moment."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from confluent_kafka import Producer

from bench.topics.broker import PARTITIONS

KEYS = 1_000
_LIVE_KEYS = 100
_BEGIN = np.datetime64("2024-01-01T00:00:00.000", "ms")
_PER_SECOND = 10_000  # of event time
_WINDOW = 10_000  # ms
_TICK = 0.01  # seconds between two lots of live events
_CLOSING = timedelta(days=1)

Row = tuple[datetime, int, int, int]


@dataclass(frozen=True)
class AtRest:
    """Events in order, and what a count of each key in windows of ten seconds gives of them."""

    values: Sequence[bytes]
    right: Counter[Row]
    last: datetime

    def is_right(self, rows: Iterable[dict[str, Any]]) -> bool:
        """True if a topic has what is right; whether the window of what closes the others is there too is all one."""
        found = ((time_of(row["closed"]), row["k"], row["n"], row["s"]) for row in rows)
        return Counter(row for row in found if row[0] <= self.last) == self.right


def at_rest(size: int) -> AtRest:
    """So many events, and one for each partition a day later, which close all windows."""
    chance = np.random.default_rng(1)
    at = _BEGIN + (np.arange(size) * 1000 // _PER_SECOND).astype("timedelta64[ms]")
    keys, numbers = chance.integers(0, KEYS, size), chance.integers(0, 1000, size)
    values = [_value(*item) for item in zip(np.datetime_as_string(at), keys.tolist(), numbers.tolist(), strict=True)]
    last = at[-1].astype(datetime)
    values += [_value((last + _CLOSING).isoformat(timespec="milliseconds"), 0, 0)] * PARTITIONS
    return AtRest(values, _right((at - _BEGIN).astype(np.int64), keys, numbers), last + timedelta(milliseconds=_WINDOW))


def _value(at: str, key: int, number: int) -> bytes:
    return f'{{"at":"{at[:10]} {at[11:]}","k":{key},"x":{number}}}'.encode()


def _right(at: np.ndarray[Any, Any], keys: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> Counter[Row]:
    groups = (at // _WINDOW) * KEYS + keys
    counts, sums = np.bincount(groups), np.bincount(groups, weights=numbers)
    return Counter(
        (
            _BEGIN.astype(datetime) + timedelta(milliseconds=(group // KEYS + 1) * _WINDOW),
            group % KEYS,
            *map(int, found),
        )
        for group, found in enumerate(zip(counts, sums, strict=True))
        if found[0]
    )


def time_of(text: str) -> datetime:
    """A time as one of the systems writes it, in UTC."""
    found = datetime.fromisoformat(text.removesuffix("Z").replace(" ", "T"))
    return found.replace(tzinfo=None)


def due(value: bytes, delay: int) -> float:
    """The moment at which a result could be there, whose window closes so many milliseconds after its end."""
    return time_of(json.loads(value)["closed"]).replace(tzinfo=UTC).timestamp() + delay / 1000


def main(servers: str, topic: str, rate: int, seconds: float) -> None:
    """Write events of the moment: so many a second, for so long."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 1, "compression.type": "lz4"})
    lot = max(1, int(rate * _TICK))
    rests = [f'","k":{at % _LIVE_KEYS},"x":{at % 1000}}}'.encode() for at in range(lot)]
    began = time.time()
    for number in range(int(seconds / _TICK)):
        time.sleep(max(0.0, began + number * _TICK - time.time()))
        head = b'{"at":"' + datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:23].encode()
        for partition in range(PARTITIONS):
            lots = [{"value": head + rest} for rest in rests[partition::PARTITIONS]]
            producer.produce_batch(topic, lots, partition=partition)
        producer.poll(0)
    late = time.time() - began - seconds
    producer.flush()
    print(f"{late:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
