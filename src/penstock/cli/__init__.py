"""The command line: renderers of the same events, diagnostics and results that Python gets; no logic of its own."""
