"""`python -m eval_assets` is the command `eval-assets`."""

from eval_assets.cli.main import main

main()
