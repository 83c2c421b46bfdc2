"""Finding a Java: the first that is new enough; else the bundled one; else a refusal that says what would work."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from penstock.backends.spark import jvm
from penstock.errors import UnsupportedError


def fake_java(folder: Path, banner: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("no such thing", None),
    ],
)
def test_version_is_read_from_the_banner(tmp_path, banner, version):
    assert jvm.java_version(fake_java(tmp_path, banner)) == version


def test_a_java_that_does_not_run_has_no_version(tmp_path):
    assert jvm.java_version(tmp_path / "nothing") is None


def test_java_home_comes_before_path(tmp_path, monkeypatch):
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.1"')
    other = fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{other.parent}:/bin:/usr/bin")
    assert jvm.find_java() == jvm.Java(home, 21)


def test_an_old_java_home_is_passed_over(tmp_path, monkeypatch):
    fake_java(tmp_path / "home", 'java version "1.8.0_392"')
    other = fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{other.parent}:/bin:/usr/bin")
    assert jvm.find_java() == jvm.Java(other, 17)


def test_without_any_java_the_refusal_says_what_was_seen(tmp_path, monkeypatch):
    old = fake_java(tmp_path / "path", 'java version "11.0.2"')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jvm, "_installed", lambda: [old])
    monkeypatch.setattr(jvm, "_bundled", lambda: None)
    with pytest.raises(UnsupportedError) as refused:
        jvm.find_java()
    assert refused.value.code == "JAVA_NOT_FOUND"
    assert "version 11" in refused.value.render()
    assert "penstock[jvm]" in refused.value.render()


def test_the_command_line_carries_memory_options_and_settings():
    line = jvm.command_line(
        jvm.Java(Path("/java"), 21),
        {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-Da=b -Dc='d e'", "spark.jars": "x.jar"},
    )
    assert line[0] == "/java"
    assert "-Xmx3g" in line
    assert "-Dc=d e" in line
    assert line[line.index("org.apache.spark.deploy.SparkSubmit") :][-3:] == [
        "--conf",
        "spark.jars=x.jar",
        "pyspark-shell",
    ]
    assert "--enable-native-access=ALL-UNNAMED" not in line


def test_a_jvm_that_cannot_start_is_a_diagnostic(tmp_path):
    broken = fake_java(tmp_path, "Error: Could not create the Java Virtual Machine.")
    with pytest.raises(UnsupportedError) as refused:
        jvm.launch(jvm.Java(broken, 17), {})
    assert refused.value.code == "JAVA_FAILED"
    assert not jvm.has_ended()  # the one that runs is still there, if one does
