"""The systems that are measured: one file each, with a function that takes a task and yields what it measured."""
