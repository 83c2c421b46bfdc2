"""Watching a pipeline: what its events say, for those who do not sit beside it.

Nothing here is asked during a step: a listener takes what an event says, and whoever asks gets what the last one has
left, so that an answer waits for no step.

| module | what |
| --- | --- |
| `watched` | what is asked of a pipeline, and what SHOW PIPELINE tells |
| `metrics` | the figures, as Prometheus takes them |
| `health` | whether a pipeline lives, and whether it is ready |
| `endpoint` | the HTTP server: /metrics, /health, /ready |
| `logs` | a line of JSON for each step, and for what else happens |
| `traces` | a span for each step and its phases, for OpenTelemetry |
| `extras` | packages that only some need |
"""
