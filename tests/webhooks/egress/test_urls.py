"""Each URL has one reading, or is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.egress import Outcome, Policy, UrlRefused
from webhooks.egress.urls import parse

PRODUCTION = Policy({443, 8443}, loopback_allowed=False)
DEVELOPMENT = Policy({443, 8443}, loopback_allowed=True)
EACH_POLICY = pytest.mark.parametrize("policy", [PRODUCTION, DEVELOPMENT], ids=["production", "development"])

GOOD = {
    "https://example.org": ("example.org", 443, "/", "example.org"),
    "https://example.org/": ("example.org", 443, "/", "example.org"),
    "HTTPS://Hooks.Example.ORG/In": ("hooks.example.org", 443, "/In", "hooks.example.org"),
    "https://example.org:443/in": ("example.org", 443, "/in", "example.org"),
    "https://example.org:8443/in?a=b&c=%20": ("example.org", 8443, "/in?a=b&c=%20", "example.org:8443"),
    "https://example.org?a=/b": ("example.org", 443, "/?a=/b", "example.org"),
    "https://xn--bcher-kva.example.org/in": ("xn--bcher-kva.example.org", 443, "/in", "xn--bcher-kva.example.org"),
    "https://a-1.2.example.org/%0d%0aX:%20y": ("a-1.2.example.org", 443, "/%0d%0aX:%20y", "a-1.2.example.org"),
    "https://93.184.215.14/in": ("93.184.215.14", 443, "/in", "93.184.215.14"),
    "https://[2606:2800:21F::1]:8443/": ("2606:2800:21f::1", 8443, "/", "[2606:2800:21f::1]:8443"),
}

TRICKS = {
    "schemes": [
        "",
        "example.org/in",
        "//example.org/in",
        "https:example.org",
        "https:/example.org",
        "https:///example.org",
        "http://example.org/in",
        "http://93.184.215.14/",
        "ftp://example.org/in",
        "file:///etc/passwd",
        "gopher://example.org:443/_",
        "dict://example.org:443/",
        "javascript:alert(1)",
        "wss://example.org/",
        "httpsx://example.org/",
        "jar:https://example.org!/",
        "url:https://example.org/",
        "https\N{FULLWIDTH COLON}//example.org/",
        "http\N{LATIN SMALL LETTER LONG S}://example.org/",
    ],
    "ports": [
        "https://example.org:80/",
        "https://example.org:22/",
        "https://example.org:6379/",
        "https://example.org:0/",
        "https://example.org:/",
        "https://example.org:0443/",
        "https://example.org:+443/",
        "https://example.org:443443/",
        "https://example.org:65979/",  # 443 with the 17th bit set
        "https://example.org:443:443/",
        "https://example.org:4\N{ARABIC-INDIC DIGIT FOUR}3/",
        "https://example.org:443@127.0.0.1/",
    ],
    "users and separators": [
        "https://ada@example.org/",
        "https://ada:secret@example.org/",
        "https://@example.org/",
        "https://example.org@127.0.0.1/",
        "https://127.0.0.1\\@example.org/",
        "https://example.org\\@127.0.0.1/",
        "https:\\\\example.org/",
        "https://example.org\\in",
        "https://example.org#@127.0.0.1/",
        "https://example.org/in#part",
        "https://example.org/%",
        "https://example.org/%zz",
        "https://example.org;127.0.0.1/",
        "https://example.org,127.0.0.1/",
        "https://exa_mple.org/",
        "https://example%2eorg/",
        "https://127.0.0.1%2f.example.org/",
        "https://*.example.org/",
    ],
    "characters": [
        "https://example.org/\r\nHost: 127.0.0.1",
        "https://example.org\r\n/",
        "https://example.org/in\n",
        "\nhttps://example.org/in",
        " https://example.org/in",
        "https://example.org/in ",
        "https://exam\tple.org/in",
        "https://example.org\0.example.net/",
        "https://example.org/\0",
        "https://example.org/a b",
        "https://example.org/\N{SNOWMAN}",
        "https://example.org/\x7f",
        'https://example.org/"',
        "https://example.org/\ud800",
        "https://b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example.org/",
        "https://example\N{IDEOGRAPHIC FULL STOP}org/",
        "https://example\N{FULLWIDTH FULL STOP}org/",
        "https://\N{KELVIN SIGN}.example.org/",
        "https://exam\N{SOFT HYPHEN}ple.org/",
        "https://exam\N{ZERO WIDTH JOINER}ple.org/",
    ],
    "names": [
        "https://",
        "https:///",
        "https://localhost/",
        "https://intranet/",
        "https://example.org./",
        "https://.example.org/",
        "https://example..org/",
        "https://-example.org/",
        "https://example-.org/",
        "https://.../",
        "https://localhost.localdomain.local/",
        "https://metadata.google.internal/",
        "https://printer.local/",
        "https://me.localhost/",
        "https://router.home.arpa/",
        "https://hidden.onion/",
        f"https://{'a' * 64}.example.org/",
        f"https://{'a.' * 130}org/",
        f"https://example.org/{'a' * 2048}",
    ],
    "addresses in other forms": [
        "https://2130706433/",
        "https://017700000001/",
        "https://0x7f000001/",
        "https://0x7f.0x0.0x0.0x1/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.1/",
        "https://1.1/",
        "https://93.184.215.014/",
        "https://93.184.215.14./",
        "https://93.184.215.14.1/",
        "https://256.1.1.1/",
        "https://4294967296/",
        "https://example.0x7f/",
        "https://example.127/",
        "https://①②⑦.⓪.⓪.①/",
        "https://１２７.0.0.1/",
        "https://١٢٧.0.0.1/",
        "https://127。0。0。1/",
        "https://[93.184.215.14]/",
        "https://[example.org]/",
        "https://[abc.de]/",
        "https://[::1",
        "https://::1/",
        "https://[2606:2800:21f::1]x/",
        "https://[2606:2800:21f::1%25eth0]/",
        "https://[2606:2800:21f::1%eth0]/",
        "https://[v1.a]/",
        "https://[]/",
        "https://[:]/",
    ],
}

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:93.184.215.14]",
    "[fd00:ec2::254]",
    "[64:ff9b::93.184.215.14]",
    "[2002:5db8:d70e::1]",
]


@EACH_POLICY
@pytest.mark.parametrize("url", GOOD)
def test_a_plain_url_is_taken_apart(url, policy):
    target = parse(url, policy)
    assert (target.host, target.port, target.path, target.authority) == GOOD[url]
    assert not target.is_local


@EACH_POLICY
@pytest.mark.parametrize("url", [pytest.param(url, id=ascii(url)[:60]) for urls in TRICKS.values() for url in urls])
def test_a_url_of_more_than_one_reading_is_refused(url, policy):
    with pytest.raises(UrlRefused) as refused:
        parse(url, policy)
    assert refused.value.outcome == Outcome.REFUSED_URL
    assert str(refused.value).startswith("must ")


@EACH_POLICY
@pytest.mark.parametrize("host", PRIVATE)
def test_an_address_that_is_not_public_is_refused_as_such(host, policy):
    with pytest.raises(UrlRefused, match="public") as refused:
        parse(f"https://{host}/", policy)
    assert refused.value.outcome == Outcome.REFUSED_ADDRESS


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "[::1]"])
@pytest.mark.parametrize("port", ["", ":8080", ":22", ":65535"])
def test_development_has_http_to_loopback_at_any_port_and_production_has_not(host, port):
    url = f"http://{host}{port}/in"
    assert parse(url, DEVELOPMENT).is_local
    with pytest.raises(UrlRefused):
        parse(url, PRODUCTION)


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/",
        "http://192.168.0.1:8000/",
        "http://169.254.169.254/latest",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0:8000/",
        "http://[::]/",
        "http://0177.0.0.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://localhost./",
        "http://me.localhost/",
        "http://localhost.example.org/",
        "http://intranet/",
        "http://ada@localhost/",
        "http://localhost:65536/",
        "http://localhost:0/",
        "https://localhost/",
        "https://localhost:8443/",
        "https://127.0.0.1:8443/",
    ],
)
def test_development_has_nothing_else_that_is_private(url):
    with pytest.raises(UrlRefused):
        parse(url, DEVELOPMENT)


def test_the_ports_are_those_of_the_policy():
    assert parse("https://example.org:9443/", Policy({9443}, loopback_allowed=False)).port == 9443
    with pytest.raises(UrlRefused, match="port 9443"):
        parse("https://example.org/", Policy({9443}, loopback_allowed=False))


@given(
    st.one_of(
        st.text(), st.text().map("https://".__add__), st.from_regex(r"https://[0-9a-fx.:\[\]%@]+", fullmatch=True)
    )
)
def test_any_text_is_refused_or_is_https_to_what_is_public(url):
    try:
        target = parse(url, PRODUCTION)
    except UrlRefused:
        return
    assert target.scheme == "https"
    assert target.port in PRODUCTION.ports
    assert url.isascii()
    assert url.isprintable()
    assert target.address is None or target.address.is_global
