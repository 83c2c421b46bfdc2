"""Texts of JSON that are made up: as programs write it, as nobody should, and broken."""

import json
import random

PATHS = (
    "$", "$.a", "$['a']", "$.a.b", "$.a[0]", "$[0]", "$[1].a", "$.a.b.c", "$['a b']", "$.\u00e9", "$[0][1]", "$.none",
    "$.a['b'][1]", "$.a b", "$.\U0001f600", "$[007]", "$.a-b", '$.a"b', "$['a.b[0]']", "$.1", "$.a ",
)  # fmt: skip
_NAMES = ("a", "a", "b", "c", "a b", "\u00e9", "\U0001f600", "a-b", 'a"b', "a.b[0]", "1", "", "\\u0061", "\\ud83d")
_LETTERS = (
    "x", "y", " ", "'", "\u00e9", "\u4e2d", "\U0001f600", "\\u00e9", "\\uD83D\\uDE00", "\\ud83d", "\\ude00", "\\n",
    "\\\\", "\\/", "\\b", "\\u0000", "\\u001F", "\n", "\x00", "\x01", "\x7f", "\u2028", "\ufeff", "{", "]", ",", ":",
    '\\"', "\\'",
)  # fmt: skip
_BROKEN = ("\\q", "\\u12", "\\u12G4", "\\x41", "\\", '"')
_NUMBERS = (
    "0", "-0", "1", "-17", "2147483648", "-9223372036854775809", "123456789012345678901234567890", "1.5", "1.50",
    "-0.0", "0.001", "0.0009", "9999999.5", "10000000.0", "1e3", "1E+2", "1e-7", "12.340e5", "3.141592653589793238",
    "1e15", "9007199254740991.0", "9007199254740993.0", "1e22", "1e400", "-1e400", "1e-400", "4.9e-324", "0e5", "0.1e1",
)  # fmt: skip
_NO_NUMBERS = (
    "01", "-", "+1", ".5", "1.", "1e", "1.e5", "NaN", "Infinity", "-Infinity", "0x1F", "1_0", "--1", "1f", "\u0661",
)  # fmt: skip
_WORDS = ("true", "false", "null", "null")
_NO_WORDS = ("True", "nul", "nullx", "undefined", "NULL", "a")
_BLANKS = ("", "", "", "", " ", "\n", "\t", "\r\n", "  ")
_NO_BLANKS = ("\x0b", "\x0c", "\u00a0", "\ufeff", "\x00", "/**/", "#\n", "\x1e")


def ordinary(draw):
    """An object as a program writes it."""

    def part():
        number = draw.choice((draw.randint(-(10**12), 10**12), round(draw.random() * 10_000, 2)))
        return draw.choice((number, number, True, False, None, "text", "it's", 'a "b"\n'))

    names = draw.sample(("a", "b", "c", "a b", "\u00e9"), draw.randint(1, 5))
    found = {name: part() for name in names}
    if draw.random() < 0.4:
        found[draw.choice(names)] = {"b": part(), "c": [part(), part()]}
    if draw.random() < 0.2:
        found[draw.choice(names)] = [part(), {"a": part()}, part()]
    return json.dumps(found, ensure_ascii=draw.random() < 0.5, indent=draw.choice((None, None, 1)))


def odd(draw, wrong=0.02):
    """Anything, each part of which is wrong in so many of the cases."""

    def bad(good, other):
        return draw.choice(other if draw.random() < wrong else good)

    def text(pool):
        quote = "'" if draw.random() < wrong * 2 else '"'
        if pool is None:
            inside = "".join(bad(_LETTERS, _BROKEN) for _ in range(draw.randint(0, 3)))
        else:
            inside = bad(pool, _BROKEN)
            inside = inside.replace('"', '\\"') if draw.random() > wrong else inside
        return quote + inside + (quote if draw.random() > wrong else "")

    def blank():
        return bad(_BLANKS, _NO_BLANKS)

    def value(depth):
        kind = draw.random()
        if depth < 4 and kind < 0.35:
            parts = [
                f"{blank()}{text(_NAMES)}{blank()}{bad(':', ('', ',', '::', '='))}{blank()}{value(depth + 1)}{blank()}"
                for _ in range(draw.randint(0, 4))
            ]
            return closed("{", parts, "}")
        if depth < 4 and kind < 0.55:
            return closed("[", [f"{blank()}{value(depth + 1)}{blank()}" for _ in range(draw.randint(0, 3))], "]")
        if kind < 0.7:
            return text(None)
        if kind < 0.75:
            return f"{draw.randint(-(10 ** draw.randint(1, 17)), 10 ** draw.randint(1, 17))}.5e{draw.randint(-30, 6)}"
        return bad(_NUMBERS, _NO_NUMBERS) if kind < 0.87 else bad(_WORDS, _NO_WORDS)

    def closed(begin, parts, end):
        comma = bad((",",), ("", ";", ",,"))
        return begin + comma.join(parts) + bad(("",), (",", " ,")) + bad((end,), ("", "}", "]", ")"))

    rest = bad(("", "", "", " ", "\n"), (" x", "x", "]", '{"a":2}', ",", "1", '"', "'", "\x00", "\u00a0"))
    return blank() + value(0 if draw.random() < 0.95 else 4) + rest


def changed(draw):
    """An object as a program writes it, in which something is missing or too much."""
    found, much = list(ordinary(draw)), ("", "", "'", '"', "{", "}", "[", "\\", ",", "1", "e", ".", " ")
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(found))
        found[place : place + draw.randint(0, 2)] = draw.choice(much)
    return "".join(found)


def large():
    """Texts at the limits of Jackson, and beyond; and of Python."""
    return [
        *("[" * depth + "1" + "]" * depth for depth in (399, 400, 401, 999, 1000, 1001, 5_000)),
        *('{"a":1,"b":' + "[" * depth + "]" * depth + "}" for depth in (397, 398, 998, 999, 1000, 3_000)),
        *('{"a":' * depth + "1" + "}" * depth for depth in (300, 999, 1001)),
        *('{"a":' + "9" * count + "}" for count in (899, 900, 999, 1000, 1001, 5_000)),
        *('{"b":' + "9" * count + ',"a":1}' for count in (1000, 1001)),
        *('{"a":0.' + "3" * count + "}" for count in (600, 998, 999, 1000)),
        *('{"b":1e' + "9" * count + ',"a":1}' for count in (9, 10, 11, 1000)),
        *('{"' + "n" * count + '":1,"a":2}' for count in (19_999, 20_001, 50_000, 50_001)),
        *('{"' + "\\u00e9" * count + '":1,"a":2}' for count in (50_000, 50_001)),
        *('{"a":"' + "x" * before + "\U0001f600" * 9_000 + '"}' for before in range(3_998, 4_002)),
        *('{"a":["' + "x" * before + "\U0001f600\\n\u00e9" * 9_000 + '"]}' for before in range(3_998, 4_002)),
        '{"a":[' + ",".join(["1.5", '{"a":"b"}'] * 5_000) + "]}",
        '{"a":"' + "x" * 1_000_000 + '","b":1}',
        "{" * 5_000,
        "\ufeff{}",
    ]


def drawn(count, seed):
    """So many texts of all kinds, and NULL."""
    draw = random.Random(seed)
    kinds = (ordinary, odd, odd, changed, lambda draw: odd(draw, wrong=0))
    return [None, "", " ", "a", "null", "1", *(draw.choice(kinds)(draw) for _ in range(count))]
