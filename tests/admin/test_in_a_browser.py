"""The organizer's main path, in a real browser against a real web process."""

import os
import secrets
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tenants.models import Role
from tenants.operations.members import add_member

CHROMIUM = Path(os.environ.get("HOLDFAST_CHROMIUM", "/usr/bin/chromium"))
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no Chromium at {CHROMIUM}")


@pytest.fixture
def organizer(make_tenant) -> tuple[str, str, str, object]:
    """A new login and its first password, owner of one tenant; the code by which it joins a second, and that one."""
    first, second = sorted((make_tenant(), make_tenant()), key=lambda tenant: tenant.slug)
    login = f"ada-{secrets.token_hex(4)}@example.org"
    _, password = add_member(tenant_id=first.id, login=login, role=Role.OWNER)
    _, code = add_member(tenant_id=second.id, login=login, role=Role.OWNER)
    return login, password, code, second


@pytest.fixture
def browser(organizer, web):
    """A page on the web process; what its scripts complain of fails the test.

    Made after all else: Django's ORM refuses a thread in which Playwright's loop runs.
    """
    faults: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        shown = chromium.new_page(base_url=web.url, viewport={"width": 1600, "height": 1000})
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
        yield shown
        chromium.close()
    assert faults == []


def log_in(browser: Page, login: str, password: str) -> None:
    browser.goto("/")
    browser.get_by_label("Login").fill(login)
    browser.get_by_label("Password").fill(password)
    browser.get_by_role("button", name="Log in").click()
    expect(browser.get_by_text("Choose a password of your own first")).to_be_visible()
    browser.locator("[name=old_password]").fill(password)
    browser.locator("[name=new_password1]").fill("a password of my own")
    browser.locator("[name=new_password2]").fill("a password of my own")
    browser.get_by_role("button", name="Change password").click()


def join(browser: Page, login: str, code: str, tenant) -> None:
    browser.goto("/admin/")
    browser.get_by_text(login).first.click()
    browser.get_by_role("link", name="Join an organizer").click()
    browser.locator("[name=code]").fill(code)
    browser.get_by_role("button", name="Join").click()
    expect(browser.get_by_label("Organizer")).to_have_value(tenant.slug)


def make_event(browser: Page) -> None:
    browser.goto("/admin/reservations/event/add/")
    browser.locator("[name=name]").fill("The Drowned Bell")
    browser.locator("[name=slug]").fill("drowned-bell")
    browser.locator("[name=starts_at]").fill("2027-07-01T19:30")
    browser.get_by_role("button", name="Save", exact=True).click()
    browser.get_by_role("link", name="The Drowned Bell").first.click()


def add_seats(browser: Page) -> None:
    browser.get_by_role("link", name="Add seats").click()
    browser.locator("[name=section]").fill("Stalls")
    browser.locator("[name=rows]").fill("A-B")
    browser.locator("[name=last]").fill("5")
    browser.locator("[name=price]").fill("25")
    browser.get_by_role("button", name="Preview labels").click()
    expect(browser.locator("#preview")).to_contain_text("Stalls A-1")
    browser.get_by_role("button", name="Add them").click()
    expect(browser.get_by_text("10 units were added")).to_be_visible()


def test_from_the_login_to_a_hold_that_counts_down(browser, organizer, web):
    login, password, code, tenant = organizer
    log_in(browser, login, password)
    join(browser, login, code, tenant)
    make_event(browser)
    add_seats(browser)
    browser.get_by_role("link", name="The Drowned Bell").first.click()
    browser.get_by_role("button", name="Publish").click()
    expect(browser.locator("#object-summary")).to_contain_text("On Sale · 10 available")
    event = browser.url.split("/")[-3]
    hold = {"event": event, "labels": ["Stalls A-1", "Stalls A-2"], "customer": "grace@example.org"}
    assert web.api(tenant).post("/v1/holds", hold).status_code == 201
    browser.goto(f"/admin/reservations/hold/?event={event}")
    expect(browser.get_by_text("50.00 EUR")).to_be_visible()
    timer = browser.get_by_role("timer")
    at_first = timer.text_content()
    expect(timer).not_to_have_text(at_first)
    expect(timer).to_have_text(f"9:{int(at_first[-2:] if at_first != '10:00' else 60) - 2:02d}", timeout=5_000)


def test_a_page_with_a_secret_that_is_loaded_again_makes_no_other(browser, organizer):
    login, password, code, tenant = organizer
    log_in(browser, login, password)
    join(browser, login, code, tenant)
    browser.goto("/admin/webhooks/endpoint/add/")
    browser.locator("[name=url]").fill("https://hooks.example.org/in")
    browser.locator("[name=events]").first.check()
    browser.get_by_role("button", name="Save", exact=True).click()
    expect(browser.locator("#secret")).to_contain_text("whsec_")
    browser.reload()
    expect(browser.get_by_text("https://hooks.example.org/in")).to_have_count(1)
    expect(browser.locator("#secret")).to_have_count(0)
