"""What was measured, kept: the only place that speaks SQL and knows duckdb, which it imports at the first call."""
