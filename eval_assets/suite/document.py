"""A YAML text as plain values that know which line they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from eval_assets.errors import ConfigError, Problem

Place = tuple[str | int, ...]
"""Where a value stands: the keys and positions that lead to it."""


@dataclass(frozen=True)
class Document:
    """A file's values, and the line of each of them."""

    file: Path
    value: Any
    lines: dict[Place, int] = field(default_factory=dict, repr=False)

    def line(self, place: Sequence[str | int]) -> int | None:
        """The line of a value, or of the nearest one around it (1-based)."""
        wanted = tuple(place)
        while wanted not in self.lines and wanted:
            wanted = wanted[:-1]
        return self.lines.get(wanted)

    def problem(self, message: str, *place: str | int) -> Problem:
        """A problem at a value of this file."""
        return Problem(message, self.file, self.line(place))


def read_text(file: Path, *, what: str) -> str:
    """
    Read a UTF-8 file; a byte order mark is skipped.

    Raises:
        ConfigError: The file is missing, is a folder, or is not UTF-8; `what` says what it should have been.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(Problem(f"there is no such file; wanted {what}", file)) from None
    except IsADirectoryError:
        raise ConfigError(Problem(f"this is a folder; wanted {what}", file)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(Problem(f"not UTF-8 text (byte {error.start}); wanted {what}", file)) from error
    except OSError as error:
        raise ConfigError(Problem(f"cannot be read ({error.strerror}); wanted {what}", file)) from error


def read_yaml(file: Path, *, what: str) -> Document:
    """
    Read a YAML file.

    Raises:
        ConfigError: It cannot be read, is not YAML, or repeats a key; the line is named.
    """
    text = read_text(file, what=what)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        lines: dict[Place, int] = {}
        value = None if node is None else _value(loader, node, (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"not YAML: {error.problem or error.context}"
        raise ConfigError(Problem(message, file, None if mark is None else mark.line + 1)) from error
    except yaml.YAMLError as error:
        raise ConfigError(Problem(f"not YAML: {error}", file)) from error
    finally:
        loader.dispose()
    return Document(file=file, value=value, lines=lines)


class _Loader(yaml.SafeLoader):
    """SafeLoader without dates: JSON has none, so `2024-05-20` stays the text it was written as."""

    yaml_implicit_resolvers = {  # noqa: RUF012  PyYAML's own class attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _value(loader: _Loader, node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)
        return {key: _value(loader, child, (*place, key), lines) for key, child in _items(loader, node)}
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, child, (*place, index), lines) for index, child in enumerate(node.value)]
    return loader.construct_object(node)


def _items(loader: _Loader, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
    seen: set[str] = set()
    for key_node, child in node.value:
        key = str(loader.construct_object(key_node))
        if key in seen:
            raise yaml.MarkedYAMLError(problem=f"the key {key!r} is written twice", problem_mark=key_node.start_mark)
        seen.add(key)
        yield key, child
