"""Which variables are taken to hold a secret."""

from __future__ import annotations

import pytest

from dwindle.ports.process import is_secret_name, secret_names


@pytest.mark.parametrize(
    "name",
    [
        *("NPM_TOKEN", "TOKEN", "GITHUB_TOKEN_READ", "gh_token", "AUTHTOKEN"),
        *("API_KEY", "APIKEY", "AWS_SECRET_ACCESS_KEY", "SSH_KEYS", "KEY"),
        *("SECRET", "CLIENT_SECRETS", "DB_PASSWORD", "PGPASSWORD", "GPG_PASSPHRASE"),
        *("GOOGLE_CREDENTIALS", "GH_PAT", "DB_PASS", "NPM_AUTH", "DB_PWD", "COOKIE"),
    ],
)
def test_a_name_that_says_so(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "XAUTHORITY",
        "MAX_TOKENS",
        "KEYBOARD",
        "TOKENIZER",
        "SECRETARY",
        "LANG",
        "NODE_ENV",
        "",
        "PWD",
    ],
)
def test_a_name_that_says_nothing(name: str) -> None:
    assert not is_secret_name(name)


def test_a_short_value_is_a_word() -> None:
    held = {"A_TOKEN": "on", "B_TOKEN": " ten ", "C_TOKEN": "12345", "LANG": "C.UTF-8"}
    assert secret_names(held) == ("C_TOKEN",)
