"""The rule of each operator, written once: when a step answers, and in which order changes meet what is remembered.

A backend says how, by the methods that a rule leaves open; docs/adr/0044 tells which operators have a rule here, and
which are a way of one backend alone.

| module     | what is in it                                                         |
| ---------- | --------------------------------------------------------------------- |
| rule       | the little that every rule asks of its backend                        |
| linear     | constant rows, linear chains, and chains that read the clock          |
| join       | inner and cross joins                                                 |
| keyed      | what works key by key                                                 |
| grouped    | GROUP BY with partial results; DISTINCT, INTERSECT and EXCEPT         |
| sessions   | SESSION                                                               |
| recomputed | queries without a key to go by                                        |
"""
