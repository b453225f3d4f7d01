"""eval_assets."""
