"""What a payment account needs to be used, as its provider asks for it; kept encrypted, shown nowhere."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from holdfast.kernel.encryption import decrypt, encrypt
from holdfast.kernel.errors import FieldError, Invalid
from reservations.models import PaymentAccount, Provider

PURPOSE = "payment account credentials"
# each provider's members, their form, and how a person finds the right one
FORMS: Mapping[str, Mapping[str, tuple[re.Pattern[str], str]]] = {
    Provider.MOCK: {},
    Provider.STRIPE: {
        "secret_key": (
            re.compile(r"(sk|rk)_(test|live)_[0-9A-Za-z]{10,240}", re.ASCII),
            "Must be a secret or restricted key of Stripe: sk_… or rk_…",
        ),
        "webhook_secret": (
            re.compile(r"whsec_[0-9A-Za-z+/=_-]{16,240}", re.ASCII),
            "Must be the signing secret of a webhook endpoint of Stripe: whsec_…",
        ),
    },
}


def checked(provider: str, credentials: Mapping[str, Any]) -> Mapping[str, str]:
    """The credentials if they are the provider's, all and no more. Raises Invalid, which repeats none of them."""
    forms = FORMS.get(provider)
    if forms is None:
        raise Invalid.at("/provider", "unknown", "There is no such provider.")
    faults = [
        FieldError(f"/{name}", "invalid", hint)
        for name, (form, hint) in forms.items()
        if not isinstance(credentials.get(name), str) or not form.fullmatch(credentials[name])
    ]
    if set(credentials) - set(forms):
        faults.append(FieldError("", "unknown", f"{Provider(provider).label} takes no other members."))
    if faults:
        raise Invalid(faults)
    return {name: credentials[name] for name in forms}


def locked(credentials: Mapping[str, str]) -> bytes:
    """As they are stored."""
    return encrypt(PURPOSE, orjson.dumps(credentials))


def opened(account: PaymentAccount) -> Mapping[str, str]:
    """The account's credentials. Raises CannotDecrypt where the key that locked them is gone."""
    credentials: Mapping[str, str] = orjson.loads(decrypt(PURPOSE, bytes(account.credentials)))
    return credentials
