"""The script that starts services: one that is killed comes back where it was, with what it held."""

import socket

import pytest
from tests.services.conftest import running, scripted


@pytest.mark.thin
def test_a_broker_answers_at_its_address(kafka):
    host, _, port = kafka.partition(":")
    with socket.create_connection((host, int(port))):
        assert scripted("start", "kafka").stdout.strip() == kafka


def test_a_broker_that_was_killed_comes_back_where_it_was(tmp_path):
    with running("kafka", tmp_path) as address:
        scripted("kill", "kafka", folder=tmp_path)
        assert "kafka  not running" in scripted("status", folder=tmp_path).stdout.splitlines()
        assert scripted("start", "kafka", folder=tmp_path).stdout.strip() == address


def test_a_service_that_there_is_not_is_said():
    found = scripted("start", "nonsense")
    assert found.returncode == 2
    assert "there is no service nonsense" in found.stderr
