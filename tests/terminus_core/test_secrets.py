"""Secrets in settings and texts: found by name, place and form; nothing harmless is masked."""

import json

import pytest

from terminus_core import Settings
from terminus_core.secrets import is_secret_name, mask_secrets, mask_text, secret_texts, secret_variables

VALUE = "not-a-real-key-0000"
SECRETS = [
    {"api_key": VALUE},
    {"Authorization": f"Bearer {VALUE}"},
    {"extra_headers": {"X-Api-Key": VALUE}},
    {"extra_headers": {"X-Auth": VALUE}},
    {"extra_headers": [["X-Api-Key", VALUE], ["Accept", "*/*"]]},
    {"headers": f"Authorization: Basic {VALUE}="},
    {"password": VALUE},
    {"openai.token": VALUE},
    {"list": [{"client_secret": VALUE}]},
    {"auth": {"user": "joe", "pin": [VALUE]}},
    {"env": {"DB_PASS": VALUE}},
    {"env": {"MYSQL_PWD": VALUE}},
    {"env": {"GITHUB_PAT": VALUE}},
    {"env": {"API_KEY_2": VALUE}},
    {"extra_body": {"apiToken": VALUE, "accessToken": VALUE, "dbPass": VALUE}},
    {"api_base": f"https://gw/v1?subscription-key={VALUE}"},
    {"api_base": f"https://gw/v1?a=b&sig={VALUE}&c=d"},
    {"api_base": f"https://joe:{VALUE}@gw/v1"},
    {"options": ["-e", f"OPENAI_API_KEY={VALUE}", f"--env=DB_PASSWORD={VALUE}", f"--api-key={VALUE}"]},
    {"shell": f"env SHOP_TOKEN={VALUE} bash --norc"},
    {"shell": f"env MY_CRED={VALUE} x --api-key {VALUE} -H 'X-Key: {VALUE}' -H 'Authorization: Bearer {VALUE}'"},
    {"extra_headers": {"CF-Access-Client": VALUE, "User-Agent": "tests"}},
]


@pytest.mark.parametrize("data", SECRETS, ids=str)
def test_secrets_are_masked_and_their_keys_stay(data):
    masked = json.dumps(mask_secrets(data))
    assert "***" in masked
    assert VALUE not in masked
    assert str(next(iter(data))) in masked
    assert {text.rstrip("=") for text in secret_texts(data)} == {VALUE, *(["joe"] if "auth" in data else [])}


HARMLESS = [
    {"max_thinking_tokens": 5, "max_tokens": 5, "token_ids": [1], "tokens": 3, "tokenizer": "x"},
    {"public_key": "x", "host_key": "x", "publicKey": "x", "ssh_host_key": "x"},
    {"api_key": None, "use_password": True},
    {"monkey": "x", "hotkey": "x", "keys": "x", "keystrokes": "x", "keyboard": "x"},
    {"path": "x", "PATH": "x", "PWD": "x", "OLDPWD": "x", "compat": "x", "keep_sec": "x", "cwd": "x"},
    {"bypass": "x", "compass": "x", "pass_env": "x", "author": "x", "authority": "x", "SSH_AUTH_SOCK": "x"},
    {"design": "x", "signal": "x", "n": 1.5},
    {"variables": ["SHOP_TOKEN", "DATABASE_URL"], "pairs": [["Accept", "*/*"]]},
    {"api_base": "http://me@host:8080/v1?api-version=2024-10-21&max_tokens=5#key=x"},
    {"extra_headers": {"User-Agent": "tests", "accept": "application/json"}, "shell": "zsh -f --login; sort -k 2"},
    {"text": "Basic usage: the key is under the mat", "options": ["--keep=yes", "LANG=C"]},
]


@pytest.mark.parametrize("data", HARMLESS, ids=str)
def test_what_is_no_secret_stays(data):
    assert mask_secrets(data) == data
    assert list(secret_texts(data)) == []


def test_a_setting_shows_where_it_goes():
    url = "https://joe:hunter22@gw/v1?api-version=1&subscription-key=hunter22"
    given = {"llm": {"litellm": {"api_base": url}}}
    masked = Settings.check(given).masked()["llm"]["litellm"]["api_base"]
    assert masked == "https://joe:***@gw/v1?api-version=1&subscription-key=***"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-proj-AAAAexampleAAAAexample here", "key *** here"),
        ("AKIAEXAMPLEEXAMPLE00", "***"),
        ("http://me:hunter2@host/v1", "http://me:***@host/v1"),
        ("GET /v1?access_token=hunter2&x=1 'Authorization': 'Basic aHVudGVy'", None),
        ("nothing to hide, sorted(x, key=first)", "nothing to hide, sorted(x, key=first)"),
    ],
)
def test_texts_that_look_like_keys_are_masked(text, masked):
    assert mask_text(text) == (masked or "GET /v1?access_token=***&x=1 'Authorization': 'Basic ***'")


def test_variables_by_their_names_without_paths(tmp_path):
    (tmp_path / "key").touch()
    secret = {
        "AWS_SECRET_ACCESS_KEY": "/q8ZkPp1Lw+XyT0a9b8c7d6e5f4g3h2i1j0kLmNo",
        "B_TOKEN": "~abcd1234efgh",
        "C_KEY": "/a/b/c+d/e=",
        "MYTOKEN": "0123456789",
    }
    paths = {"SSH_KEY": f"{tmp_path}/key", "TLS_KEY": "/srv/not/there.pem", "HOME_KEY": "~", "X_CREDENTIALS": "~/a/b"}
    assert list(secret_variables({**secret, **paths, "LANG": "C"})) == list(secret.values())
    assert is_secret_name("MYTOKEN")
