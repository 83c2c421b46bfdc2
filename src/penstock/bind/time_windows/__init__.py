"""Windows of time: TUMBLE, HOP, CUMULATE and SESSION, in FROM and in GROUP BY."""
