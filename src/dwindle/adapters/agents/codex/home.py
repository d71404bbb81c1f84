"""The folder in which codex keeps its login and what the person has set: CODEX_HOME.

A session uses the person's own, because the login is in there and is renewed there. Their
`config.toml` is another matter: it can start servers, name programs to be told of every turn, and
loosen what we ask for. So it is left out, except where it says how to log in: whose service it is,
or where the login is kept. Without that part there would be no login at all, and to hand it on as
options is no way out, since it may hold a key. Of a config that is left out, the model and the
effort are still the person's wish, and are passed on.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

KEYS: Final = ("CODEX_API_KEY", "OPENAI_API_KEY")
"""codex itself reads the first one only."""

LOGIN: Final = "auth.json"

HOW_TO_LOG_IN: Final = (
    *("model_provider", "openai_base_url", "chatgpt_base_url", "cli_auth_credentials_store"),
    *("forced_login_method", "forced_chatgpt_workspace_id", "profile"),
)
"""Keys of `config.toml` without which a login may be lost."""

GUARDED: Final = (
    *("config.toml", "AGENTS.md", "AGENTS.override.md", "hooks.json", "rules", "prompts"),
)
"""What later sessions of the person would obey."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    folder: Path | None
    """It need not exist. None if there is no HOME."""
    login: str = ""
    """How it would log in, as far as that can be told offline; empty if in no way that shows."""
    has_own_login: bool = False
    """Whether that is in the folder, or where its config says, and not in the environment."""
    keeps_config: bool = False
    """Whether `config.toml` is needed for that."""
    names_service: bool = False
    """Whether it says whose service is asked."""
    model: str = ""
    effort: str = ""
    variables: tuple[str, ...] = ()
    """Names of environment variables with keys for that service."""

    @property
    def is_there(self) -> bool:
        return self.folder is not None and self.folder.is_dir()

    @property
    def guarded(self) -> tuple[Path, ...]:
        if self.folder is None:
            return ()
        found = (self.folder / name for name in GUARDED)
        return tuple(path for path in found if path.exists())


def home(ours: Mapping[str, str] = os.environ) -> Home:
    folder = _folder(ours)
    if folder is None:
        return Home(folder=None, login=_from_environment(ours))
    config = _config(folder)
    provider = config.get("model_provider")
    variables = tuple(dict.fromkeys(_variables(config, provider)))
    own = _from_config(config, provider, variables, ours) or _from_file(folder)
    first = _from_environment({name: ours.get(name, "") for name in KEYS[:1]})
    return Home(
        folder=folder,
        login=first or own or _from_environment(ours),
        has_own_login=bool(own),
        keeps_config=any(config.get(name) is not None for name in HOW_TO_LOG_IN),
        names_service=isinstance(provider, str) and provider != "openai",
        model=_text(config.get("model")),
        effort=_text(config.get("model_reasoning_effort")),
        variables=variables,
    )


def _folder(ours: Mapping[str, str]) -> Path | None:
    """Without links in it: where HOME is hidden, they are."""
    named = ours.get("CODEX_HOME")
    if not named and (above := ours.get("HOME")):
        named = f"{above}/.codex"
    return Path(os.path.realpath(named)) if named else None


def _config(folder: Path) -> dict[str, Any]:
    """Nothing, if it cannot be read: codex will say so itself if it has to read it."""
    try:
        return tomllib.loads((folder / "config.toml").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _variables(config: dict[str, Any], provider: object) -> Iterator[str]:
    providers = config.get("model_providers")
    table = providers.get(provider) if isinstance(providers, dict) else None
    if not isinstance(table, dict):
        return
    headers = table.get("env_http_headers")
    named = [table.get("env_key"), *(headers.values() if isinstance(headers, dict) else ())]
    for name in named:
        if isinstance(name, str) and name:
            yield name


# --- how it would log in -------------------------------------------------------------------------


def _from_environment(ours: Mapping[str, str]) -> str:
    return next((f"{name} is set" for name in KEYS if ours.get(name)), "")


def _from_config(
    config: dict[str, Any], provider: object, variables: tuple[str, ...], ours: Mapping[str, str]
) -> str:
    if isinstance(provider, str) and provider != "openai":
        missing = [name for name in variables if not ours.get(name)]
        lacks = f", but {missing[0]} is not set" if missing else ""
        return f"config.toml names the service {provider}{lacks}"
    store = config.get("cli_auth_credentials_store")
    if store in ("keyring", "auto"):
        return (
            "config.toml keeps it in the keyring of the system, which is out of reach in a "
            'sandbox (cli_auth_credentials_store = "file" is not)'
        )
    return ""


def _from_file(folder: Path) -> str:
    stored = _stored(folder)
    if stored.get("tokens"):
        return f"{folder / LOGIN} names an account"
    return f"{folder / LOGIN} has a key" if stored.get("OPENAI_API_KEY") else ""


def stored_logins(ours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and value of each secret in the file with the login."""
    folder = _folder(ours)
    stored = {} if folder is None else _stored(folder)
    tokens = stored.get("tokens")
    found = {**(tokens if isinstance(tokens, dict) else {}), "key": stored.get("OPENAI_API_KEY")}
    for name, value in found.items():
        if name in _SECRET and isinstance(value, str):
            yield f"{name} of {LOGIN}", value


def _stored(folder: Path) -> dict[str, Any]:
    try:
        stored = json.loads((folder / LOGIN).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_SECRET: Final = ("key", "access_token", "refresh_token", "id_token")
