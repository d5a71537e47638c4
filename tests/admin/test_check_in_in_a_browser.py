"""The page at the door on a phone: with its camera, with typing alone, and without any script."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from reservations.queries.tickets import token_maker
from tenants.models import Role
from tests.admin.conftest import settle

CHROMIUM = Path(os.environ.get("HOLDFAST_CHROMIUM", "/usr/bin/chromium"))
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no Chromium at {CHROMIUM}")
PASSWORD = "a password of my own"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 3}
# Chromium reads codes on Android alone: what it would find is put in front of it, the camera being its own fake one
CODES_IN_VIEW = """
window.codesInView = [];
window.BarcodeDetector = class {
  static async getSupportedFormats() { return ["qr_code"]; }
  async detect(camera) { return camera.videoWidth ? window.codesInView.map((rawValue) => ({ rawValue })) : []; }
};
"""
NO_DETECTOR = "delete window.BarcodeDetector;"


@dataclass(frozen=True)
class Scene:
    """A scanner's login, and two tickets of one event."""

    login: str
    tokens: list[str]


@pytest.fixture
def scene(tenant, make_event, make_tickets, make_member) -> Scene:
    tickets = make_tickets(tenant, make_event(tenant, name="The Drowned Bell"), ["A-1", "A-2"])
    user = make_member(tenant, Role.SCANNER, login=f"scanner-{secrets.token_hex(4)}@example.org").user
    settle(user, PASSWORD)
    return Scene(user.get_username(), [token_maker()(ticket) for ticket in tickets])


@pytest.fixture
def open_phone(scene, web):
    """`open_phone(script)`: a phone on which the scanner is at the page, gate North chosen.

    What its scripts complain of fails the test.
    """
    faults: list[str] = []
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-background-networking"]
        flags += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)

        def make(script: str = NO_DETECTOR) -> Page:
            phone = chromium.new_context(base_url=web.url, **PHONE).new_page()
            phone.add_init_script(script)
            phone.on("pageerror", lambda error: faults.append(str(error)))
            phone.on(
                "console", lambda message: faults.append(message.text) if "Content Security" in message.text else None
            )
            go_to_the_door(phone, scene.login)
            return phone

        yield make
        chromium.close()
    assert faults == []


def go_to_the_door(phone: Page, login: str) -> None:
    phone.goto("/")
    phone.locator("[name=username]").fill(login)
    phone.locator("[name=password]").fill(PASSWORD)
    phone.locator("[type=submit]").first.click()
    phone.wait_for_url("**/admin/check-in/")
    phone.locator("#door-form [name=event]").select_option(label="The Drowned Bell")
    phone.locator("#door-form [name=gate]").fill("North")
    phone.locator("#door-form [type=submit]").click()
    expect(phone.locator("summary")).to_have_text("The Drowned Bell · North")


def type_code(phone: Page, code: str) -> None:
    """As a hand scanner does: the text, and Enter."""
    phone.locator("#code").fill(code)
    phone.locator("#code").press("Enter")


def wait_until_it_fits(phone: Page) -> None:
    """Nothing is wider than the screen, once the fonts are there."""
    phone.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")


def test_codes_are_typed_one_after_another(open_phone, scene):
    phone = open_phone()
    wait_until_it_fits(phone)
    expect(phone.locator("#code")).to_be_focused()
    expect(phone.locator("#camera-button")).to_be_hidden()
    type_code(phone, scene.tokens[0])
    expect(phone.locator("#verdict.good")).to_contain_text("Let in")
    expect(phone.locator("#count")).to_have_text("1 of 2 are in")
    expect(phone.locator("#code")).to_have_value("")
    expect(phone.locator("#code")).to_be_focused()
    type_code(phone, scene.tokens[0])
    expect(phone.locator("#verdict.bad")).to_contain_text("First let in at North")
    type_code(phone, scene.tokens[1])
    expect(phone.locator("#count")).to_have_text("2 of 2 are in")
    type_code(phone, "nonsense")
    expect(phone.locator("#verdict.bad")).to_contain_text("Not a ticket")
    wait_until_it_fits(phone)
    for large in ("#code", "#scan-form [type=submit]"):
        assert phone.locator(large).bounding_box()["height"] >= 48


def test_the_camera_sends_what_it_sees_once(open_phone, scene):
    phone = open_phone(CODES_IN_VIEW)
    phone.locator("#camera-button").click()
    expect(phone.locator("#camera")).to_be_visible()
    expect(phone.locator("#camera-button")).to_be_hidden()
    phone.evaluate("code => { window.codesInView = [code]; }", scene.tokens[0])
    expect(phone.locator("#verdict.good")).to_contain_text("A-1")
    # it stays in view, then goes, and another comes: the second is the next thing that is said
    phone.evaluate("() => { window.codesInView = []; }")
    phone.evaluate("code => { window.codesInView = [code]; }", scene.tokens[1])
    expect(phone.locator("#verdict.good")).to_contain_text("A-2")
    expect(phone.locator("#count")).to_have_text("2 of 2 are in")
    phone.evaluate("code => { window.codesInView = [code]; }", scene.tokens[0])
    expect(phone.locator("#verdict.bad")).to_contain_text("Used before")
    wait_until_it_fits(phone)


def test_a_phone_that_is_off_the_net_says_so(open_phone, scene):
    phone = open_phone()
    phone.context.set_offline(True)
    type_code(phone, scene.tokens[0])
    expect(phone.locator("#verdict.bad")).to_contain_text("Not sent")
    phone.context.set_offline(False)
    type_code(phone, scene.tokens[0])
    expect(phone.locator("#verdict.good")).to_contain_text("Let in")


def test_who_was_logged_out_meanwhile_is_asked_to_log_in(open_phone, scene):
    phone = open_phone()
    phone.context.clear_cookies()
    type_code(phone, scene.tokens[0])
    expect(phone.locator("[name=password]")).to_be_visible()


def test_it_needs_no_script(open_phone, scene, web):
    session = open_phone().context
    options = {**PHONE, "storage_state": session.storage_state(), "java_script_enabled": False}
    phone = session.browser.new_context(base_url=web.url, **options).new_page()
    phone.goto("/admin/check-in/")
    type_code(phone, scene.tokens[0])
    expect(phone.locator("#verdict.good")).to_contain_text("Let in")
    assert phone.url.endswith("/admin/check-in/")
    type_code(phone, scene.tokens[0])
    expect(phone.locator("#verdict.bad")).to_contain_text("Used before")
