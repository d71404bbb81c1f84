"""Which values are secret, their spellings, and that text comes out without them."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.kernel.model import AtomId, Check, CheckType
from dwindle.ports.process import Secret
from dwindle.ports.work import NoReport, Trouble, WorkerReport
from dwindle.text.redact import (
    StreamRedactor,
    command_line_secrets,
    environment_secrets,
    is_secret_name,
    longest_first,
    named_secrets,
    redact,
    redact_and_escape,
    redact_bytes,
    redact_command_line,
    secret_names,
    variable_secrets,
)

ODD = 'a/b"c\\d é'
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nc2Vjb25kIGxpbmUgb2Yga2V5\n-----END KEY-----"


def values(named: dict[str, str], ours: dict[str, str] | None = None) -> set[bytes]:
    return {secret.value for secret in environment_secrets(named, ours or {})}


def test_what_is_let_through_is_taken_at_its_name() -> None:
    assert values({"ACME_TOKEN": "12a45", "SHORT_TOKEN": "abcd", "LANG": "de_DE"}) == {b"12a45"}


def test_of_our_own_only_what_may_be_a_key() -> None:
    ours = {"A_TOKEN": "12345678", "B_TOKEN": "short12", "C_TOKEN": "false", "D_KEY": "a-long-one"}
    assert values({}, ours) == {b"a-long-one"}


@pytest.mark.parametrize("word", ["true", "False", "null", "None", "1048576", "12.50"])
def test_a_word_that_every_report_has_is_no_secret(word: str) -> None:
    assert values({"USE_TOKEN": word}) == set()


@pytest.mark.parametrize(
    "key", ["ghp_0123456789", "sk-ant-0123456", "AKIA0123456789", "github_pat_0123456", PEM]
)
def test_a_key_is_known_by_its_looks(key: str) -> None:
    assert key.encode() in values({"PAT": key})
    assert key.encode() in values({}, {"PAT": key})


def test_a_password_in_an_address_is_one_under_any_name() -> None:
    given = {"DATABASE_URL": "postgres://me:pass-word@db/x", "PROXY": "http://proxy:3128"}
    assert values(given) == {b"me:pass-word", b"pass-word", b"me%3Apass-word"}
    assert values({"ODD": "http://[::1"}) == set()


def test_a_command_line_may_have_one() -> None:
    words = ("tool", "--api-key=abc-1", "--token", "abc-2", "-v", "x", "sk-0123456", "--keys", "-v")
    assert list(command_line_secrets(words, "command")) == [
        ("command", "abc-1"),
        ("command", "abc-2"),
        ("command", "sk-0123456"),
    ]


@pytest.mark.parametrize(
    "spelling",
    [
        ODD,
        json.dumps(ODD),
        json.dumps(ODD, ensure_ascii=False),
        json.dumps(ODD, ensure_ascii=False).replace("/", "\\/"),
        f"https://me:{quote(ODD, safe='')}@host",
    ],
)
def test_it_is_found_however_a_program_writes_it_down(spelling: str) -> None:
    secrets = named_secrets([("KEY", ODD)])
    assert redact(spelling, secrets) == spelling.replace(
        next(s.value.decode() for s in secrets if s.value.decode() in spelling), "[KEY]"
    )
    assert "b" not in redact(spelling, secrets)


def test_letters_may_be_numbers() -> None:
    secrets = named_secrets([("KEY", "abc/1.2")])
    said = b'{"a": "\\u0061bc\\u002F1.\\u0032", "b": "\\u0061bd"}'
    assert redact_bytes(said, secrets) == b'{"a": "[KEY]", "b": "\\u0061bd"}'


def test_of_several_lines_each_is_one() -> None:
    said = redact(
        f"> {PEM.splitlines()[1]}\n> {PEM.splitlines()[2]}", named_secrets([("KEY", PEM)])
    )
    assert said == "> [KEY]\n> [KEY]"


def test_the_longest_goes_first_and_the_first_name_stays() -> None:
    one, two, other = Secret(b"abcde", b"[1]"), Secret(b"abcdef", b"[2]"), Secret(b"abcde", b"[3]")
    assert longest_first([one, two, other]) == (two, one)


def test_every_part_of_a_report_is_redacted_and_escaped() -> None:
    secrets = named_secrets([("KEY", "canary")])
    report = WorkerReport(success=True, summary="with canary\x1b[2J", artifacts=("canary", "b"))
    assert redact_and_escape(report, secrets) == WorkerReport(
        success=True, summary="with [KEY]\\x1b[2J", artifacts=("[KEY]", "b")
    )
    draft = {"atoms": [{"id": AtomId("A1"), "check": None, "n": 3, "canary": ["canary"]}]}
    assert redact_and_escape(draft, secrets) == {
        "atoms": [{"id": "A1", "check": None, "n": 3, "[KEY]": ["[KEY]"]}]
    }


def test_a_clean_report_is_the_same_object() -> None:
    report = NoReport(trouble=Trouble.FAILED, reason="plain")
    assert redact_and_escape(report, ()) is report
    check = Check(type=CheckType.COMMAND, value="true")
    assert redact_and_escape(check, named_secrets([("KEY", "command")])) is check


# --- names ----------------------------------------------------------------------------------------


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


def test_a_command_line_is_shown_without_them() -> None:
    words = ("tool", "--api-key=abc-1", "--token", "a=b", "-v", "x", "sk-0123456", "API_KEY=abc")
    assert redact_command_line(words) == (
        *("tool", "--api-key=[...]", "--token", "[...]", "-v", "x", "[...]", "API_KEY=[...]"),
    )


# --- variables -----------------------------------------------------------------------------------

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
SECRETS = variable_secrets(
    VARIABLES, ("KEY", "LONGER", "SHORT", "EMPTY", "MISSING"), ("PROXY", "PLAIN", "ODD")
)


def test_a_name_stands_in_for_a_secret_and_the_longer_one_goes_first() -> None:
    said = "sk-canary-1 and sk-canary-123, then sk-canary-1."
    assert redact(said, SECRETS) == "[KEY] and [LONGER], then [KEY]."
    assert redact_bytes(said.encode(), SECRETS) == b"[KEY] and [LONGER], then [KEY]."


def test_of_an_address_only_the_login_is_secret() -> None:
    said = "http://me:pass-word@proxy:3128/ with pass-word, http://proxy:3128/ and not-secret"
    assert redact(said, SECRETS) == (
        "http://[PROXY]@proxy:3128/ with [PROXY], http://proxy:3128/ and not-secret"
    )


def test_a_login_without_a_password_is_secret_too() -> None:
    secrets = variable_secrets({"PROXY": "http://long-token@proxy"}, urls=("PROXY",))
    assert redact("long-token@proxy", secrets) == "[PROXY]@proxy"


def test_in_json_a_secret_may_look_different() -> None:
    secrets = variable_secrets({"KEY": 'a"b\\cde'})
    assert redact(json.dumps({"said": 'a"b\\cde'}), secrets) == '{"said": "[KEY]"}'


def test_the_longest_secret_comes_first() -> None:
    assert variable_secrets(VARIABLES, ("KEY", "LONGER")) == (
        Secret(b"sk-canary-123", b"[LONGER]"),
        Secret(b"sk-canary-1", b"[KEY]"),
    )


def test_a_word_is_no_secret() -> None:
    assert redact("abc", SECRETS) == "abc"
    assert redact("", SECRETS) == ""


# --- streams -------------------------------------------------------------------------------------

SHOWN = b"[*]"


def secrets(*values: bytes) -> tuple[Secret, ...]:
    return tuple(Secret(value, SHOWN) for value in values)


def redacted(pieces: list[bytes], *values: bytes) -> bytes:
    stream = StreamRedactor(secrets(*values))
    return b"".join([*map(stream.add, pieces), stream.end()])


@given(
    pieces=st.lists(st.text("abc", max_size=5).map(str.encode), max_size=8),
    values=st.lists(st.text("abc", min_size=2, max_size=5).map(str.encode), max_size=4),
)
def test_the_pieces_make_no_difference_property(pieces: list[bytes], values: list[bytes]) -> None:
    text = b"".join(pieces)
    clean = redacted(pieces, *values)
    assert clean == redacted([text], *values)
    pattern = b"|".join(map(re.escape, sorted(values, key=len, reverse=True)))
    assert clean == (re.sub(pattern, SHOWN, text) if values else text)
    assert not any(value in clean for value in values)


def test_a_secret_that_begins_with_another_waits_for_its_end() -> None:
    stream = StreamRedactor((Secret(b"sk-1", b"[short]"), Secret(b"sk-123", b"[long]")))
    assert [stream.add(b"a sk-1"), stream.add(b"2"), stream.add(b"3."), stream.end()] == [
        *(b"a ", b"", b"[long].", b""),
    ]
    assert [stream.add(b"a sk-1"), stream.add(b"2, "), stream.end()] == [b"a ", b"[short]2, ", b""]


def test_what_ends_inside_of_a_doubt_leaves_a_smaller_doubt() -> None:
    assert redacted([b"1abXY"], b"1ab", b"abXYcd", b"XY") == SHOWN * 2


def test_a_line_that_has_ended_is_passed_on_at_once() -> None:
    stream = StreamRedactor(secrets(b"sk-123"))
    assert stream.add(b"as is\nsk-12\n") == b"as is\nsk-12\n"


def test_without_secrets_nothing_is_held_back() -> None:
    stream = StreamRedactor(secrets(b""))
    assert (stream.add(b"abc"), stream.end()) == (b"abc", b"")


def test_a_long_secret_is_found_wherever_it_is_cut() -> None:
    value = b"eyeye" + bytes(range(32, 120)) + b"eyeye"
    for at in range(len(value) + 1):
        stream = StreamRedactor(secrets(value))
        first = stream.add(b"an eye: " + value[:at])
        assert first == (b"an eye: " if 0 < at < len(value) else b"an eye: " + SHOWN * (at > 0))
        assert (
            first + stream.add(value[at:] + b" ey") + stream.end() == b"an eye: " + SHOWN + b" ey"
        )
