"""What counts as a secret, how it may be spelt, and that it is taken out of everything said."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from dwindle.kernel.model import AtomId, Check, CheckType
from dwindle.ports.process import Secret
from dwindle.ports.secrecy import (
    longest_first,
    retold,
    secrets_in_words,
    secrets_of,
    spelt,
    told,
    told_bytes,
)
from dwindle.ports.work import NoReport, Trouble, WorkerReport

ODD = 'a/b"c\\d é'
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nc2Vjb25kIGxpbmUgb2Yga2V5\n-----END KEY-----"


def values(named: dict[str, str], ours: dict[str, str] | None = None) -> set[bytes]:
    return {secret.value for secret in secrets_of(named, ours or {})}


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
    assert list(secrets_in_words(words, "command")) == [
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
    secrets = spelt([("KEY", ODD)])
    assert told(spelling, secrets) == spelling.replace(
        next(s.value.decode() for s in secrets if s.value.decode() in spelling), "[KEY]"
    )
    assert "b" not in told(spelling, secrets)


def test_letters_may_be_numbers() -> None:
    secrets = spelt([("KEY", "abc/1.2")])
    said = b'{"a": "\\u0061bc\\u002F1.\\u0032", "b": "\\u0061bd"}'
    assert told_bytes(said, secrets) == b'{"a": "[KEY]", "b": "\\u0061bd"}'


def test_of_several_lines_each_is_one() -> None:
    said = told(f"> {PEM.splitlines()[1]}\n> {PEM.splitlines()[2]}", spelt([("KEY", PEM)]))
    assert said == "> [KEY]\n> [KEY]"


def test_the_longest_goes_first_and_the_first_name_stays() -> None:
    one, two, other = Secret(b"abcde", b"[1]"), Secret(b"abcdef", b"[2]"), Secret(b"abcde", b"[3]")
    assert longest_first([one, two, other]) == (two, one)


def test_a_report_is_told_again_in_every_part() -> None:
    secrets = spelt([("KEY", "canary")])
    report = WorkerReport(success=True, summary="with canary\x1b[2J", artifacts=("canary", "b"))
    assert retold(report, secrets) == WorkerReport(
        success=True, summary="with [KEY]\\x1b[2J", artifacts=("[KEY]", "b")
    )
    draft = {"atoms": [{"id": AtomId("A1"), "check": None, "n": 3, "canary": ["canary"]}]}
    assert retold(draft, secrets) == {
        "atoms": [{"id": "A1", "check": None, "n": 3, "[KEY]": ["[KEY]"]}]
    }


def test_what_need_not_be_told_again_is_the_same() -> None:
    report = NoReport(trouble=Trouble.FAILED, reason="plain")
    assert retold(report, ()) is report
    check = Check(type=CheckType.COMMAND, value="true")
    assert retold(check, spelt([("KEY", "command")])) is check
