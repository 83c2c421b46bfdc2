"""Files that Spark wrote by its legacy calendar, and times in nanoseconds."""

import datetime as dt
import io

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import OLD, reader, written

from penstock.sources.formats.legacy_calendar import LegacyCalendar, calendars_of

SPARK = "org.apache.spark"
LEGACY = {f"{SPARK}.version": "3.5.0", f"{SPARK}.legacyDateTime": "", f"{SPARK}.timeZone": "UTC"}
# Days of the Julian calendar, as numbers of days since 1970, and the dates that they are written as.
DAYS = {
    -719_162: dt.date(1, 1, 3),
    -354_280: dt.date(1000, 1, 1),
    -171_596: dt.date(1500, 3, 1),  # the 29th of February, which is none today
    -141_428: dt.date(1582, 10, 4),
    -141_427: dt.date(1582, 10, 15),
    0: dt.date(1970, 1, 1),
}


def test_days_are_those_with_the_same_date():
    calendar = LegacyCalendar()
    found = {day: dt.date.fromordinal(calendar.date(day) + dt.date(1970, 1, 1).toordinal()) for day in DAYS}
    assert {day: date for day, date in found.items() if date != DAYS[day]} == {}


def test_times_of_a_zone_are_its_own_local_times():
    """The number that Spark has for Los Angeles in the year 1: two days without 422 seconds, its local time."""
    zone = calendars_of({**LEGACY, "org.apache.spark.timeZone": "America/Los_Angeles"}).datetime
    assert zone.time(-62_135_568_000_000_000) + 62_135_568_000_000_000 == 172_378_000_000
    assert [zone.time(at) for at in (0, -2_208_988_800_000_000)] == [0, -2_208_988_800_000_000]


@pytest.mark.parametrize(
    ("metadata", "dates", "int96"),
    [
        ({}, False, False),
        ({"org.apache.spark.version": "2.4.8"}, True, True),
        ({"org.apache.spark.version": "3.0.1"}, False, True),
        ({"org.apache.spark.version": "4.1.0"}, False, False),
        ({"org.apache.spark.version": "4.1.0", "org.apache.spark.legacyINT96": ""}, False, True),
        (LEGACY, True, False),
    ],
)
def test_a_file_says_which_of_its_times_are_of_the_legacy_calendar(metadata, dates, int96):
    calendars = calendars_of(metadata)
    assert (calendars.datetime is not None, calendars.int96 is not None) == (dates, int96)


@pytest.mark.parametrize("legacy", [True, False])
def test_parquet_is_rebased_at_any_depth(tmp_path, legacy):
    days = pa.array(list(DAYS), pa.int32())
    dates, times = days.cast(pa.date32()), pa.array([day * 86_400_000_000 for day in DAYS], pa.timestamp("us", "UTC"))
    nested = pa.ListArray.from_arrays(range(len(days) + 1), pa.StructArray.from_arrays([dates], ["d"]))
    table = pa.table({"a": dates, "b": times, "c": nested, "e": times.cast(pa.timestamp("us"))})
    pq.write_table(table.replace_schema_metadata(LEGACY if legacy else {}), tmp_path / "1.parquet")
    columns = "a DATE, b TIMESTAMP, c ARRAY<STRUCT<d: DATE>>, e TIMESTAMP_NTZ"
    wanted = list(DAYS.values()) if legacy else dates.to_pylist()
    rows = reader(tmp_path, "parquet", columns).all()
    assert [row[0] for row in rows] == [row[1].date() for row in rows] == [row[2][0]["d"] for row in rows] == wanted
    assert [row[3].date() for row in rows] == dates.to_pylist()


def test_int96_is_rebased_by_a_mark_of_its_own(tmp_path):
    times = pa.array([day * 86_400_000_000 for day in DAYS], pa.timestamp("us", "UTC"))
    table = pa.table({"a": times}).replace_schema_metadata({**LEGACY, "org.apache.spark.version": "2.4.0"})
    pq.write_table(table, tmp_path / "1.parquet", use_deprecated_int96_timestamps=True)
    assert [row[0].date() for row in reader(tmp_path, "parquet", "a TIMESTAMP").all()] == list(DAYS.values())


def test_avro_is_rebased(tmp_path):
    kinds = {"a": {"type": "int", "logicalType": "date"}, "b": {"type": "long", "logicalType": "timestamp-micros"}}
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}
    rows, out = [{"a": day, "b": day * 86_400_000_000} for day in DAYS], io.BytesIO()
    fastavro.writer(out, schema, rows, metadata=LEGACY)
    written(tmp_path / "1.avro", out.getvalue(), age=OLD)
    found = reader(tmp_path, "avro", "a DATE, b TIMESTAMP").all()
    assert [row[0] for row in found] == [row[1].date() for row in found] == list(DAYS.values())


def test_nanoseconds_are_cut_to_the_microsecond_before(tmp_path):
    nanos = pa.array([1_700_000_000_123_456_789, -1, None], pa.timestamp("ns", "UTC"))
    lists = pa.ListArray.from_arrays([0, 1, 2, 3], nanos)
    pq.write_table(pa.table({"a": nanos, "b": lists, "c": nanos.cast(pa.timestamp("ns"))}), tmp_path / "1.parquet")
    found = reader(tmp_path, "parquet", "a TIMESTAMP, b ARRAY<TIMESTAMP>, c TIMESTAMP_NTZ").all()
    wanted = ["2023-11-14 22:13:20.123456", "1969-12-31 23:59:59.999999", "None"]
    shown = [[str(value).removesuffix("+00:00") for value in (a, b[0], c)] for a, b, c in found]
    assert shown == [[value] * 3 for value in wanted]
