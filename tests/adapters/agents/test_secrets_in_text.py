from __future__ import annotations

import json

from dwindle.adapters.agents.secrets_in_text import Secrets
from dwindle.ports.process import Secret

VARIABLES = {
    "KEY": "sk-canary-1",
    "LONGER": "sk-canary-123",
    "SHORT": "abc",
    "EMPTY": "",
    "PROXY": "http://me:pass-word@proxy:3128/",
    "PLAIN": "http://proxy:3128/",
    "ODD": "http://[::1",
    "OTHER": "not-secret",
}
SECRETS = Secrets(
    VARIABLES,
    secret=("KEY", "LONGER", "SHORT", "EMPTY", "MISSING"),
    addresses=("PROXY", "PLAIN", "ODD"),
)


def test_a_name_stands_in_for_a_secret_and_the_longer_one_goes_first() -> None:
    said = "sk-canary-1 and sk-canary-123, then sk-canary-1."
    assert SECRETS.out_of(said) == "[KEY] and [LONGER], then [KEY]."
    assert SECRETS.out_of_bytes(said.encode()) == b"[KEY] and [LONGER], then [KEY]."


def test_of_an_address_only_the_login_is_secret() -> None:
    said = "http://me:pass-word@proxy:3128/ with pass-word, http://proxy:3128/ and not-secret"
    assert SECRETS.out_of(said) == (
        "http://[PROXY]@proxy:3128/ with [PROXY], http://proxy:3128/ and not-secret"
    )


def test_a_login_without_a_password_is_secret_too() -> None:
    secrets = Secrets({"PROXY": "http://long-token@proxy"}, secret=(), addresses=("PROXY",))
    assert secrets.out_of("long-token@proxy") == "[PROXY]@proxy"


def test_in_json_a_secret_may_look_different() -> None:
    secrets = Secrets({"KEY": 'a"b\\cde'}, secret=("KEY",))
    assert secrets.out_of(json.dumps({"said": 'a"b\\cde'})) == '{"said": "[KEY]"}'


def test_whoever_keeps_what_a_program_prints_is_told() -> None:
    assert Secrets(VARIABLES, secret=("KEY", "LONGER")).of_command() == (
        Secret(b"sk-canary-123", b"[LONGER]"),
        Secret(b"sk-canary-1", b"[KEY]"),
    )


def test_a_word_is_no_secret() -> None:
    assert SECRETS.out_of("abc") == "abc"
    assert SECRETS.out_of("") == ""
