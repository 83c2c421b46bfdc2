"""Circuits: plans as incremental operators, still without Spark."""
