"""Arrays in, small named results out: numpy and scipy only. Knows no case, no metric and no report."""
