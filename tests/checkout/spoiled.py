"""Callbacks with one thing wrong, for the conformance suite."""

from tests.checkout.stages import SentCallback


def spoiled(callback: SentCallback) -> list[SentCallback]:
    """What nobody but a liar or a broken line sends."""
    body, headers = callback.body, dict(callback.headers)
    kept = {name: value for name, value in headers.items() if "signature" not in name}
    signed = {name: value for name, value in headers.items() if name not in kept}
    junk = [
        "",
        " ",
        "=",
        ",",
        "t=,v1=",
        "t=1,v1=\N{SNOWMAN}",
        "\x00",
        "é",
        "t=" + "9" * 400,
        "x" * 100_000,
        "t=1," * 20_000,
    ]
    return [
        SentCallback(body + b" ", headers),
        SentCallback(body[:-1], headers),
        SentCallback(b"", headers),
        SentCallback(b"\xff" * 100_000, headers),
        SentCallback(body, {}),
        SentCallback(body, kept),
        SentCallback(body, kept | {name: value[:-1] for name, value in signed.items()}),
        SentCallback(body, kept | {name: value.swapcase() + "0" for name, value in signed.items()}),
        *(SentCallback(body, kept | dict.fromkeys(signed, text)) for text in junk),
    ]
