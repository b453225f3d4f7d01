"""Keys, headers and queries of a target: where they come from, what is wrong with them, what must never be shown."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import urllib.request
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlsplit

from eval_assets.targets import cassette
from eval_assets.targets.redaction import Redactor
from eval_assets.targets.specs import EndpointSpec, Http, ModelSpec, TargetSpec, is_sendable

_SHORTEST_SECRET = 6
_SHORTEST_GUESSED = 8
_LONG = 20
_NO_SECRETS = frozenset({"ollama", "lm-studio", "not-needed", "no-key", "no-key-required", "sk-no-key-required"})
"""What people write where a local server wants some key. Blacking it out would eat honest answers."""
_SECRET_NAME = re.compile(r"(?i)auth|key|token|secret|passw|credential|cookie|session|sig")
_OPEN_NAME = re.compile(
    r"(?i)accept.*|content-.*|user-agent|referer|http-referer|x-title|anthropic-(version|beta)|openai-(beta|organization|project)"
    r"|api-version|alt|key-?id"
)
"""Names of headers and query parameters that hold no secret; an answer that says their value is left as it is."""
_SCHEMES = frozenset({"basic", "bearer", "token", "digest", "apikey", "api-key"})


def problems(spec: EndpointSpec) -> list[str]:
    """What is wrong with the key that a target names."""
    variable = spec.api_key_env
    if variable is None or cassette.is_replaying():
        return []
    found = os.environ.get(variable)
    if not found:
        state = "is not set" if found is None else "is empty"
        return [f"api_key_env names {variable}, which {state}; export {variable}, or leave api_key_env out"]
    if not is_sendable(found):
        return [f"the key in {variable} holds a line break or a character outside ASCII; set it again without"]
    return []


def key(spec: EndpointSpec) -> str | None:
    """The key a target sends, where it names one and it is set."""
    return None if spec.api_key_env is None else os.environ.get(spec.api_key_env)


def secrets(spec: EndpointSpec) -> list[str]:
    """Every text of a target that must be written nowhere: its key, and what its headers and query hold."""
    sent = key(spec) or ""
    found = [sent] if len(sent) >= _SHORTEST_SECRET and sent.lower() not in _NO_SECRETS else []
    for name, value in (*spec.headers.items(), *spec.query.items()):
        found += _parts(name, value)
    return list(dict.fromkeys(found))


def redactor(specs: Iterable[TargetSpec]) -> Redactor:
    """What blacks out the secrets of all these targets, and the password of a proxy that the environment names."""
    known = [secret for spec in specs if isinstance(spec, EndpointSpec) for secret in secrets(spec)]
    return Redactor([*known, *_proxy_passwords()])


def identity(spec: EndpointSpec) -> str:
    """Whose limits a target counts against: a hash of the host that is asked and of what says who asks."""
    url = spec.base_url if isinstance(spec, ModelSpec) else spec.url if isinstance(spec, Http) else ""
    parts = urlsplit(url)
    asks = sorted(
        (name.lower(), value) for name, value in (*spec.headers.items(), *spec.query.items()) if is_secret_name(name)
    )
    facts = json.dumps([parts.scheme, parts.hostname, parts.port, key(spec), asks])
    return hashlib.sha256(facts.encode()).hexdigest()


def open_query(spec: EndpointSpec) -> dict[str, str | None]:
    """What stands in a target's query, without secrets: `api-version` may change answers, a new key does not."""
    return {name: None if is_secret_name(name) else value for name, value in sorted(spec.query.items())}


def is_secret_name(name: str) -> bool:
    """Whether a header or a query parameter of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _OPEN_NAME.fullmatch(name)


def _parts(name: str, value: str) -> Iterator[str]:
    """The secrets in a header's or parameter's value: the whole, the words after a scheme, what `Basic` encodes."""
    if _OPEN_NAME.fullmatch(name):
        return
    named = is_secret_name(name)
    words = [word for word in re.split(r"[\s,;=\"]+", value) if word.lower() not in _SCHEMES]
    for text in (value, *words, *_decoded(value)):
        if text.lower() not in _NO_SECRETS | _SCHEMES and _is_secret(text, named=named):
            yield text


def _is_secret(text: str, *, named: bool) -> bool:
    if named:
        return len(text) >= _SHORTEST_SECRET
    return len(text) >= _SHORTEST_GUESSED and _looks_drawn(text)


def _looks_drawn(text: str) -> bool:
    # Of a header with a name of its own, `acme-support` may be said in an answer; `x7f3a9d2b` is never said by chance.
    if len(text) >= _LONG and " " not in text:
        return True
    return any(character.isdigit() for character in text) and any(character.isalpha() for character in text)


def _decoded(value: str) -> Iterator[str]:
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return
    try:
        pair = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return
    yield pair
    yield pair.partition(":")[2]


def _proxy_passwords() -> Iterator[str]:
    for proxy in urllib.request.getproxies().values():
        password = urlsplit(proxy).password if "@" in proxy else None
        if password and len(password) >= _SHORTEST_SECRET:
            yield password
            yield unquote(password)
