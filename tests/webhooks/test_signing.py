"""What we sign, the receivers' own libraries take: whatever is in the body, and with either secret of a rotation."""

import base64
import json
import shutil
import subprocess
import time
from pathlib import Path

import orjson
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from webhooks.signing import new_secret, sign, signed_headers

ID = "0192f6c1-7a3e-7c5d-9f0a-3b2c1d4e5f60"
BODIES = {
    "emoji": orjson.dumps({"name": "Zirkus 🎪 👩‍👩‍👧"}),
    "escaped emoji": b'{"name":"Zirkus \\ud83c\\udfaa"}',
    "combining marks and right to left": orjson.dumps({"name": "e\u0301 \u202eabc \u05e9\u05dc\u05d5\u05dd"}),
    "line separator": orjson.dumps({"name": "a\u2028b\u2029c"}),
    "escapes": b'{"name":"\\u0000 \\" \\\\ \\/ \\n\\t"}',
    "spaces and order that no serializer makes": b'{ "b" : 1.0 ,\n "a":  1e2 }\n',
    "empty object": b"{}",
    "long": orjson.dumps({"name": "é" * 100_000}),
}
each_body = pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BODIES.items()])


def headers_now(body: bytes, *secrets: str) -> dict[str, str]:
    return signed_headers(ID, int(time.time()), body, secrets)


@each_body
def test_the_standard_library_takes_the_bytes_that_were_signed(body):
    secret = new_secret()
    assert Webhook(secret).verify(body, headers_now(body, secret)) == json.loads(body)


@each_body
def test_it_refuses_any_other_bytes(body):
    secret = new_secret()
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers_now(body, secret))


def test_either_secret_of_a_rotation_is_enough_and_no_other_is():
    old, new, other = new_secret(), new_secret(), new_secret()
    body = BODIES["emoji"]
    headers = headers_now(body, new, old)
    for known in (old, new):
        Webhook(known).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(body, headers)


def test_the_id_and_the_time_are_signed_too():
    secret = new_secret()
    headers = headers_now(b"{}", secret)
    for changed in ({"webhook-id": ID[:-1] + "1"}, {"webhook-timestamp": str(int(headers["webhook-timestamp"]) - 1)}):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(b"{}", headers | changed)


def test_a_signature_is_the_one_that_anybody_else_would_make():
    # the example of the specification
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    signed = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [secret])
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_is_32_random_bytes():
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) for secret in secrets} == {32}


@pytest.mark.parametrize("secrets", [[], [""], ["nonsense"], ["whsec_"], ["whsec_no base64"], ["AAAA"]])
def test_nothing_is_signed_with_what_is_no_secret(secrets):
    with pytest.raises(ValueError):
        sign(ID, 0, b"{}", secrets)


CHECK = """
import { Webhook } from "standardwebhooks";
import { readFileSync } from "node:fs";
for (const { secret, body, headers } of JSON.parse(readFileSync(0)))
  new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
try {
  const { secret, headers } = JSON.parse(process.argv[2]);
  new Webhook(secret).verify("{}", headers);
} catch (refused) { console.log(refused.name); }
"""


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory) -> Path:
    """Where Node finds the receivers' library of its own world."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("no Node here")
    folder = tmp_path_factory.mktemp("node")
    (folder / "check.mjs").write_text(CHECK)
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "standardwebhooks@1"]
    try:
        subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=60)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("npm's registry does not answer")
    return folder


def test_the_library_for_node_takes_them_too(node_folder):
    secret, old = new_secret(), new_secret()
    sent = [
        {"secret": known, "body": base64.b64encode(body).decode(), "headers": headers_now(body, secret, old)}
        for body in BODIES.values()
        for known in (secret, old)
    ]
    other = json.dumps({"secret": new_secret(), "headers": headers_now(b"{}", secret)})
    ran = subprocess.run(
        ["node", "check.mjs", other],
        cwd=node_folder,
        input=json.dumps(sent).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"WebhookVerificationError\n", b"")
