"""Facts about plans: each module answers one question, by one exhaustive match over the kinds of node.

    module       | the question                                     | its values           | who asks
    changelog    | is a row ever taken back, and by which operator  | Retraction or None   | circuit, outputs, explain
    keys         | which columns tell all rows apart                | sets of field names  | circuit, explain
    nulls        | is a column never NULL                           | bool                 | keys, reach, looking_back
    direction    | does an expression go up when its column does    | Direction            | waterline, emission
    waterline    | below which value will a column never change     | Derived              | collection, emission
    declarations | can what is promised about columns hold          | SqlError             | check, runtime
    views        | (what was found for a view, kept by catalog)     |                      | the others

No module starts a JVM, and none changes a plan.
"""
