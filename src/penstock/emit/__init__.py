"""The emission of a view's changes: a policy behind the view's change, in the step and as a part of it.

    the change of a view  →  Emission.after(change, waterlines, clock)  →  the rows shown, what waits, and until when

| module | what |
| --- | --- |
| `api` | what a policy is: a value that says what a step shows, and what it is itself after the step |
| `policies` | the list of policies, and which one a view asks for |
| `plain` | a view without a policy: its change is shown |
| `final` | `emit_final`: rows are shown once nothing can change them |
| `standing` | a standing query between two steps |
| `triggers` | when rows are due: at once, each tick, when closed, after a delay |
| `sessions` | the sessions of a query AFTER SESSION CLOSE: which are closed |
| `groups` | the groups of rows, as values or as numbers |
| `counting` | results that are shown after so many rows |
| `refining` | windows whose results are refined: early, complete, final |
| `dressing` | how they are shown: content, order, limits, columns that tell about the emission |
| `waiting` | changes that wait, added up |
"""
