"""From topic to topic: events in Kafka, counted in windows, their results in Kafka, on three systems.

broker.py       the broker of `scripts/services.sh`, topics in it, what they hold
events.py       the events, at rest and as they happen; what is right of their results
jobs.py         the three systems as processes of their own
on_penstock.py, on_flink.py, on_streaming.py      what such a process runs
figure.py       the figure
"""
