"""Where the rows of tables come from; `api` says what the run loop expects of a source."""
