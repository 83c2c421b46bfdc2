"""The functions that the root docstring names on the way of a query are there."""

from __future__ import annotations

import pkgutil
import re

import pytest

import penstock

NAMED = re.findall(r"^ {6}([a-z_]+(?:\.\w+)+)\(", penstock.__doc__, re.MULTILINE)
FOLDERS = re.findall(r"^ {6}([a-z_]+)\.\*", penstock.__doc__, re.MULTILINE)


@pytest.mark.parametrize("name", NAMED)
def test_a_function_of_the_way_exists(name):
    assert callable(pkgutil.resolve_name(f"penstock.{name}"))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_the_way_exists(name):
    assert pkgutil.resolve_name(f"penstock.{name}").__path__


def test_the_way_goes_from_the_text_to_the_receivers():
    assert (NAMED[0], FOLDERS[-1]) == ("sql.parse.parse", "outputs")
