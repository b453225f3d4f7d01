"""The public names are there, are what they say, and nothing public is missing from the list."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import eval_assets

MODULES = [
    module.name
    for module in pkgutil.walk_packages(eval_assets.__path__, "eval_assets.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", eval_assets.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(eval_assets, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = eval_assets.no_such_name


def test_names_are_sorted_once() -> None:
    assert len(set(eval_assets.__all__)) == len(eval_assets.__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_belongs_in_it(module: str) -> None:
    assert importlib.import_module(module).__doc__
