"""Circuits at work on Spark DataFrames."""
