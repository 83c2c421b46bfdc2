"""`penstock sql --attach DIR`: a shell asks a pipeline that `penstock run --dir DIR` has at work in another process.

    shell ── {"sql": …, "format": …, "layout": …} ──▶ DIR/socket ──▶ a thread of the run, between two steps
          ◀── {"out": …}, {"error": …}, {"end": true} ──

A connection is one question, as lines of JSON. The socket is its user's alone (mode 0600). Who goes away before the
answer has it cancelled.

| module | what it does |
| --- | --- |
| `wire` | the socket's address, and lines of JSON |
| `answers` | what is answered: statements that read |
| `server` | the threads in the process that runs |
| `client` | the shell's side |
"""
