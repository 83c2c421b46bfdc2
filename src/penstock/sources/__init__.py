"""Where the rows of tables come from: a transport brings streams of bytes, a format makes rows of them.

| module | what it holds |
| --- | --- |
| `api` | what the run loop expects of a source; connectors by name |
| `installed` | connectors that other packages bring, by their entry points |
| `secrets` | `'${env:NAME}'` and `'${file:PATH}'` in properties |
| `postgres/` | PostgreSQL: connections, names, errors |
| `transport` | what a connector brings: streams, each with its position |
| `lag` | how much is known to wait in a source |
| `position` | how far a stream has been read |
| `flow` | a transport whose bytes flow by, as those of a connection do |
| `successive` | several sources of one table, one after the other |
| `reading` | a source made of a transport and a format: reads, takes back, reads again what a manifest names |
| `looks` | what is asked again and again, each time in a thread of its own |
| `patience` | when something is asked next, and how long it may not answer |
| `packages` | packages of an extra, and what is said where one is missing |
| `properties` | what a table may say in WITH about its source |
| `delta/` | the connector `delta` |
| `iceberg/` | the connector `iceberg` |
| `lake/` | what both have in common: a content, then the versions that follow |
| `datagen/` | the connector `datagen`: rows by rule, at a rate |
| `files/` | the connector `files`: a folder whose files grow, are renamed, are replaced |
| `polled/` | the connector `sql`: rows of a database, by a column that grows |
| `spark/` | the connector `spark`: whatever Spark reads by a format's name |
| `http/` | the connector `http`: rows that others push, or that an address is asked for |
| `kafka/` | the connectors `kafka` and `upsert-kafka`: the messages of topics |
| `messages/` | the formats of whole messages: json, csv, raw, debezium, upserts |
| `formats/` | json, csv, parquet, avro: records cut from a stream, and made rows |
"""
