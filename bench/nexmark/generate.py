"""Events of NEXMark as Arrow tables: 1 person, 3 auctions and 46 bids in every 50 events.

The distributions are those of the Beam and Flink suites: half of all bids go to the auction that is hot now, three
quarters come from the bidder that is hot now, auctions last as long as a hundred of them take to open on average, and
half of all bids come through one of four channels. Events are made in blocks of fixed size, each with random numbers
of its own, so a longer run begins with exactly the events of a shorter one, however it is cut into steps.

No answer depends on where they differ from those suites: an address has `_` where theirs has a blank, texts are not
trimmed, and the first number of a person is added to a bidder once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.nexmark import text

BIDS, AUCTIONS, PERSONS = 46, 3, 1
EPOCH = BIDS + AUCTIONS + PERSONS
TABLES = ("person", "auction", "bid")
EDITION = 1  # of what is below: files that another one has written are other events
_BLOCK = 1000 * EPOCH
_BEGIN = dt.datetime(2025, 12, 31, 23, 59, tzinfo=dt.UTC)  # a run of more than a minute sees two days
_FIRST_ID, _FIRST_CATEGORY, _CATEGORIES = 1000, 10, 5
_IN_FLIGHT, _ACTIVE = 100, 1000  # auctions that still take bids, persons that still make them
_AUCTION_LEAD = _PERSON_LEAD = 10  # references may run ahead of what they refer to
_HOT_GROUP = 100  # the hot auction, bidder and seller change every so many auctions and persons
_HOT_AUCTIONS, _HOT_BIDDERS, _HOT_SELLERS = 2, 4, 4  # one in so many is not hot
_PERSON_BYTES, _AUCTION_BYTES, _BID_BYTES = 200, 500, 100
_FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
_LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
_STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
_CITIES = ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle"]
_CITIES += ["Kent", "Cheyenne"]
_MICROSECONDS = 1_000_000
_INSTANT = pa.timestamp("us", tz="UTC")

Events = Mapping[str, pa.Table]
Numbers = np.ndarray


@dataclass(frozen=True)
class Stream:
    """Which events: how many, how many in a second of event time, with which seed, how far out of order.

    With `disorder` an event arrives up to so many seconds after others that are younger; never so late that LATENESS
    of as many seconds would drop it.
    """

    events: int
    rate: float = 10_000.0
    seed: int = 1
    disorder: float = 0.0

    def steps(self, size: int) -> Iterator[Events]:
        """The events in order of arrival, `size` of them at a time."""
        waiting: list[Events] = []
        held = 0
        for arrived in self._arrivals():
            waiting.append(arrived)
            held += _count(arrived)
            while held >= size:
                step, rest = _cut(_joined(waiting), size)
                yield step
                waiting, held = [rest], _count(rest)
        if held:
            yield _plain(_joined(waiting))

    def _arrivals(self) -> Iterator[Events]:
        """Tables with a column `arrival`, each table's rows in its order."""
        late: Events | None = None
        for first in range(0, self.events, _BLOCK):
            block = self._block(first, min(_BLOCK, self.events - first))
            pending = block if late is None else _sorted(_joined([late, block]))
            until = self._micros(np.array([first + _BLOCK]))[0]
            final = first + _BLOCK >= self.events
            yield pending if final else _before(pending, until, came=True)
            late = None if final else _before(pending, until, came=False)

    def _micros(self, numbers: Numbers) -> Numbers:
        """When events happen, in whole milliseconds, as microseconds since 1970."""
        begin = int(_BEGIN.timestamp()) * 1000
        return (begin + (numbers * 1000 / self.rate).astype(np.int64)) * 1000

    def _block(self, first: int, count: int) -> Events:
        random = np.random.default_rng([self.seed, first // _BLOCK])
        numbers = np.arange(first, first + _BLOCK, dtype=np.int64)  # always a whole block, so that any prefix is one
        places = numbers % EPOCH
        happened = self._micros(numbers)
        arrival = numbers
        if self.disorder:
            apart = np.random.default_rng([self.seed, first // _BLOCK, 1])  # the events are the same without disorder
            delay = apart.random(_BLOCK) * self.disorder * _MICROSECONDS
            arrival = happened + delay.astype(np.int64)
        kinds = {"person": places < PERSONS, "bid": places >= PERSONS + AUCTIONS}
        kinds["auction"] = ~(kinds["person"] | kinds["bid"])
        make = {"person": _persons, "auction": self._auctions, "bid": _bids}
        kept = numbers < first + count
        made = {}
        for name in TABLES:
            chosen = kinds[name]
            table = make[name](random, numbers[chosen], pa.array(happened[chosen], _INSTANT))
            table = table.append_column("number", pa.array(numbers[chosen]))
            table = table.append_column("arrival", pa.array(arrival[chosen]))
            made[name] = table.filter(pa.array(kept[chosen]))
        return _sorted(made) if self.disorder else made

    def _auctions(self, random: np.random.Generator, numbers: Numbers, happened: pa.Array) -> pa.Table:
        count = len(numbers)
        hot = random.integers(0, _HOT_SELLERS, count) > 0
        group = _last_person(numbers) // _HOT_GROUP * _HOT_GROUP
        seller = np.where(hot, group, _some_person(random, numbers)) + _FIRST_ID
        price = _prices(random, count)
        name, description = text.words(random, count, 20), text.words(random, count, 100)
        began = self._micros(numbers)
        horizon = (self._micros(numbers + _IN_FLIGHT * EPOCH // AUCTIONS) - began) // 1000
        length = 1 + _below(random, np.maximum(horizon * 2, 1))
        used = 48 + text.lengths(name) + text.lengths(description)
        return pa.table(
            {
                "id": _last_auction(numbers) + _FIRST_ID,
                "item_name": name,
                "description": description,
                "initial_bid": price,
                "reserve": price + _prices(random, count),
                "date_time": happened,
                "expires": pa.array(began + length * 1000, _INSTANT),
                "seller": seller,
                "category": _FIRST_CATEGORY + random.integers(0, _CATEGORIES, count),
                "extra": text.padding(random, used, _AUCTION_BYTES),
            }
        )


def _persons(random: np.random.Generator, numbers: Numbers, happened: pa.Array) -> pa.Table:
    count = len(numbers)
    name = text.joined(" ", text.chosen(random, count, _FIRST_NAMES), text.chosen(random, count, _LAST_NAMES))
    email = text.joined("", text.words(random, count, 7, "_"), "@", text.words(random, count, 5, "_"), ".com")
    card = text.joined(" ", *(text.digits(random, count, 4) for _ in range(4)))
    city, state = text.chosen(random, count, _CITIES), text.chosen(random, count, _STATES)
    used = 8 + sum(text.lengths(item) for item in (name, email, card, city, state))
    return pa.table(
        {
            "id": _last_person(numbers) + _FIRST_ID,
            "name": name,
            "email_address": email,
            "credit_card": card,
            "city": city,
            "state": state,
            "date_time": happened,
            "extra": text.padding(random, used, _PERSON_BYTES),
        }
    )


def _bids(random: np.random.Generator, numbers: Numbers, happened: pa.Array) -> pa.Table:
    count = len(numbers)
    last = _last_auction(numbers)
    hot = random.integers(0, _HOT_AUCTIONS, count) > 0
    first = np.maximum(last - _IN_FLIGHT, 0)
    other = first + _below(random, last - first + 1 + _AUCTION_LEAD)
    auction = np.where(hot, last // _HOT_GROUP * _HOT_GROUP, other) + _FIRST_ID
    hot = random.integers(0, _HOT_BIDDERS, count) > 0
    group = _last_person(numbers) // _HOT_GROUP * _HOT_GROUP + 1  # hot bidders are no hot sellers
    bidder = np.where(hot, group, _some_person(random, numbers)) + _FIRST_ID
    channel, url = text.channels(random, count)
    return pa.table(
        {
            "auction": auction,
            "bidder": bidder,
            "price": _prices(random, count),
            "channel": channel,
            "url": url,
            "date_time": happened,
            "extra": text.padding(random, np.full(count, 32), _BID_BYTES),
        }
    )


def _last_person(numbers: Numbers) -> Numbers:
    """The number of the youngest person at an event, counted from 0."""
    found: Numbers = numbers // EPOCH
    return found


def _last_auction(numbers: Numbers) -> Numbers:
    """The number of the youngest auction at an event, counted from 0; an auction's own."""
    epoch, place = numbers // EPOCH, numbers % EPOCH
    opened = np.clip(place - PERSONS + 1, 0, AUCTIONS)
    return epoch * AUCTIONS + opened - 1


def _some_person(random: np.random.Generator, numbers: Numbers) -> Numbers:
    """One of the active persons, or one that has yet to come."""
    people = _last_person(numbers) + 1
    active = np.minimum(people, _ACTIVE)
    return people - active + _below(random, active + _PERSON_LEAD)


def _below(random: np.random.Generator, bounds: Numbers) -> Numbers:
    """A random integer from 0 up to, not including, each bound."""
    return (random.random(len(bounds)) * bounds).astype(np.int64)


def _prices(random: np.random.Generator, count: int) -> Numbers:
    """1.00 to 1,000,000.00 in cents, its logarithm evenly spread."""
    return np.rint(10 ** (random.random(count) * 6) * 100).astype(np.int64)


def _count(events: Events) -> int:
    return sum(table.num_rows for table in events.values())


def _joined(parts: list[Events]) -> Events:
    return {name: pa.concat_tables([part[name] for part in parts]) for name in TABLES}


def _sorted(events: Events) -> Events:
    order = [("arrival", "ascending"), ("number", "ascending")]
    return {name: table.sort_by(order) for name, table in events.items()}


def _before(events: Events, until: int, *, came: bool) -> Events:
    """The rows that have arrived before a moment, or those that have not. Without disorder all of a block have."""
    return {
        name: table.filter(pa.array((table["arrival"].to_numpy() < until) == came)) for name, table in events.items()
    }


def _cut(events: Events, size: int) -> tuple[Events, Events]:
    """The first `size` events of all tables together, and the rest."""
    order = np.sort(np.concatenate([_arrived(table) for table in events.values()]), order=["arrival", "number"])
    last = order[size - 1]
    first, rest = {}, {}
    for name, table in events.items():
        count = int(np.searchsorted(_arrived(table), last, side="right"))
        first[name], rest[name] = table.slice(0, count), table.slice(count)
    return _plain(first), rest


def _arrived(table: pa.Table) -> Numbers:
    rows = np.empty(table.num_rows, dtype=[("arrival", np.int64), ("number", np.int64)])
    rows["arrival"], rows["number"] = table["arrival"].to_numpy(), table["number"].to_numpy()
    return rows


def _plain(events: Events) -> Events:
    return {name: table.drop_columns(["number", "arrival"]).combine_chunks() for name, table in events.items()}
