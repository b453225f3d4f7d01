"""The group of commands, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
import traceback

import click

from eval_assets.cli import commands
from eval_assets.errors import ConfigError, EvalError, FormatError, OutOfRange, PromotionRefused, Regression

PASS, REGRESSION, USAGE, INCONCLUSIVE = 0, 1, 2, 3


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="eval-assets", prog_name="eval-assets")
def cli() -> None:
    """
    Decide with evidence whether a new model, prompt or agent may replace the one in production.

    Exit codes: 0 pass, 1 regression or refused promotion, 2 usage or configuration error, 3 inconclusive: something was
    not measured.
    """


for _command in commands.COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; every error is one message on stderr."""
    try:
        return int(cli.main(arguments, prog_name="eval-assets", standalone_mode=False) or PASS)
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing was decided", err=True)
        return INCONCLUSIVE
    except EvalError as error:
        click.echo(f"error: {error}", err=True)
        return exit_code(error)
    except Exception:  # noqa: BLE001  a crash must not look like exit code 1, which means a regression was measured
        traceback.print_exc()
        click.echo("error: this is a fault of eval-assets itself; nothing was decided", err=True)
        return INCONCLUSIVE


def exit_code(error: EvalError) -> int:
    """What an error means to whoever reads only the exit code."""
    if isinstance(error, (PromotionRefused, Regression)):
        return REGRESSION
    return USAGE if isinstance(error, (ConfigError, FormatError, OutOfRange)) else INCONCLUSIVE
