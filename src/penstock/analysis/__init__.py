"""Facts about plans: each module answers one question, by one exhaustive match over the kinds of node.

    module       | the question                                     | its values           | who asks
    changelog    | is a row ever taken back, and by which operator  | Retraction or None   | circuit, outputs, explain
    kinds        | what kind of change does each operator give, why | Kind                 | outputs, explain
    keys         | which columns tell all rows apart                | sets of field names  | circuit, explain
    nulls        | is a column never NULL                           | bool                 | keys, reach, looking_back
    sorting      | by what are rows sorted, by what can they be      | Sorting              | explain
    monotonic    | how does a column go as the rows come             | Direction            | explain, cases
    direction    | does an expression go up when its column does    | Direction            | waterline, emission
    waterline    | below which value will a column never change     | Derived              | collection, emission
    declarations | can what is promised about columns hold          | SqlError             | check, runtime
    inexact      | can another engine answer with other last digits  | bool                 | runtime
    written      | can a table take what a statement writes into it | SqlError             | check, runtime
    views        | (what was found for a view, kept by catalog)     |                      | the others

What these ask in their turn:

    module       | the question
    row_waterlines | how far had time got before the step in which a row came
    substreams   | by which columns has each substream a waterline of its own
    determined   | which columns do other columns determine
    growth       | how does the number of rows go
    session_ends | by which waterline do sessions with limits close
    final        | by which column do rows become final (`emit_final`)
    reach        | how far back does a window call look
    looking_back | which column orders a window so that a new row changes only what comes after it
    followers    | which column tells when the rows that a window looks ahead to have come
    derived      | how does a waterline follow from those of the sources
    bounds       | how long is a bound of LATENESS or AHEAD
    inequality   | what does a condition say about how small a column can be
    generated    | what is the least value that a generator gives for a row
    needed       | above which times of its rows does a query read a table
    local_time   | what is read from a clock that is put back once a year

No module starts a JVM, and none changes a plan.
"""
