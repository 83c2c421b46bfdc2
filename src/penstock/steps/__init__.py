"""One step: rows folded and judged, the engine, what is shown, the input log, and the commit that makes it so."""
