"""The session has the settings that matter, and leaves nothing behind in the user's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from base64 import b64encode

import pyarrow as pa
import pytest
from py4j.protocol import BYTES_TYPE, OUTPUT_CONVERTER
from pyarrow import parquet as pq

from penstock.backends.spark import session as sessions
from penstock.errors import UnsupportedError


@pytest.mark.parametrize("key", sessions.RUNTIME_SETTINGS)
def test_every_runtime_setting_is_set(spark, key):
    assert spark.conf.get(key) == sessions.RUNTIME_SETTINGS[key]


def test_static_settings_are_set(spark):
    for key, value in sessions.STATIC_SETTINGS.items():
        assert spark.sparkContext.getConf().get(key) == value


def test_there_is_room_for_compiled_code_with_one_compiler_too(spark):
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    rooms = [pool.getUsage().getMax() for pool in pools if pool.getName().startswith(("CodeCache", "CodeHeap"))]
    assert sum(rooms) == 512 << 20


def test_bytes_of_the_jvm_are_decoded_in_one_go(spark):
    everything = bytes(range(256)) * 3
    found = spark._jvm.java.util.Base64.getDecoder().decode(b64encode(everything).decode())
    assert (type(found), found) == (bytearray, everything)
    assert OUTPUT_CONVERTER[BYTES_TYPE].__module__ == "penstock.backends.spark.session"


def test_a_child_process_does_not_attach_to_this_jvm(spark):
    assert "PYSPARK_GATEWAY_PORT" not in os.environ


def test_open_session_uses_the_running_one(spark):
    assert sessions.open_session().sparkContext is spark.sparkContext


def test_no_session_is_opened_without_ansi_mode():
    with pytest.raises(UnsupportedError, match="ansi"):
        sessions.open_session(conf={"spark.sql.ansi.enabled": "false"})


def test_adopting_keeps_the_users_partition_count(spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    sessions.adopt_session(spark)
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


def test_large_files_are_read_with_every_core(spark, tmp_path):
    numbers = pa.table({"x": range(1 << 20)})
    pq.write_table(numbers, tmp_path / "x.parquet", row_group_size=1 << 16, compression="none")
    assert spark.read.parquet(str(tmp_path)).rdd.getNumPartitions() >= spark.sparkContext.defaultParallelism


def test_the_users_own_number_of_parts_of_a_file_stays(spark):
    key = "spark.sql.files.minPartitionNum"
    before = spark.conf.get(key)
    try:
        spark.conf.set(key, "7")
        sessions.adopt_session(spark)
        assert spark.conf.get(key) == "7"
    finally:
        spark.conf.set(key, before)


_PROGRAM = """
from penstock.backends.spark.session import open_session
spark = open_session(master="local[1]", conf={"spark.driver.memory": "1g"})
spark.sql("CREATE TABLE kept (a INT) USING parquet")
spark.sql("INSERT INTO kept VALUES (1)")
try:
    spark.sql("SELECT nothing FROM kept")
except Exception:
    pass
print(spark.sql("SELECT a FROM kept").collect()[0][0])
spark.stop()
"""


@pytest.mark.extended
def test_a_session_is_silent_and_litters_nothing(tmp_path):
    done = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert list(tmp_path.iterdir()) == []
