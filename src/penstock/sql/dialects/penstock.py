"""Penstock's own dialect: Spark's names, and every streaming construct."""

from __future__ import annotations

from penstock.sql.rules import Rules

RULES = Rules("penstock")
