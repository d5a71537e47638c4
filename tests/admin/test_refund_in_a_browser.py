"""A refund as a manager sees it: from the order's page, by the worker, to the money that is back."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from reservations.models import Order
from tenants.models import Role
from tests.admin.conftest import settle
from tests.support.processes import background, wait_until

CHROMIUM = Path(os.environ.get("HOLDFAST_CHROMIUM", "/usr/bin/chromium"))
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no Chromium at {CHROMIUM}")
PASSWORD = "a password of my own"


@dataclass(frozen=True)
class Scene:
    """A manager's login, and a paid order of two seats."""

    login: str
    order: Order


@pytest.fixture
def scene(tenant, make_event, make_order, make_member) -> Scene:
    order = make_order(tenant, make_event(tenant, name="The Drowned Bell"), ["A-1", "A-2"])
    user = make_member(tenant, Role.MANAGER, login=f"manager-{secrets.token_hex(4)}@example.org").user
    settle(user, PASSWORD)
    return Scene(user.get_username(), order)


@pytest.fixture
def worker(scene, psp):
    """One of the queue of payments, which finds the provider."""
    with background() as programs:
        yield programs.worker("payments", **psp.variables)


@pytest.fixture
def browser(scene, worker, web):
    """A page on the web process, which knows no provider at all; what its scripts complain of fails the test."""
    faults: list[str] = []
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-background-networking"]
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        shown = chromium.new_page(base_url=web.url, viewport={"width": 1600, "height": 1000})
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
        yield shown
        chromium.close()
    assert faults == []


def log_in(browser: Page, login: str) -> None:
    browser.goto("/")
    browser.locator("[name=username]").fill(login)
    browser.locator("[name=password]").fill(PASSWORD)
    browser.locator("[type=submit]").first.click()
    browser.wait_for_url("**/admin/reservations/event/")


def again(browser: Page) -> str:
    """The refunds, as the page shows them now."""
    browser.reload()
    return browser.locator("#order-refunds").inner_text().lower()


def test_from_the_click_to_the_money_that_is_back(browser, scene):
    log_in(browser, scene.login)
    browser.locator("#nav-sidebar-apps a").filter(has=browser.get_by_text("Orders", exact=True)).click()
    browser.get_by_role("link", name="grace@example.org").click()
    browser.get_by_role("link", name="Refund", exact=True).click()
    browser.get_by_label("A-2, 25.00 EUR").uncheck()
    browser.locator("[name=reason]").fill("She called")
    browser.get_by_role("button", name="Refund what is ticked").click()

    expect(browser.get_by_text("The refund of 25.00 EUR is on its way.")).to_be_visible()
    expect(browser.locator("#order-tickets")).to_contain_text("void")
    expect(browser.locator("#timeline")).to_contain_text("Refund: A-1 for 25.00 EUR, She called")

    wait_until(lambda: "succeeded" in again(browser), "the refund")
    expect(browser.locator("#timeline")).to_contain_text("25.00 EUR is back")
    expect(browser.locator("#order-items tbody tr", has_text="A-1")).to_contain_text("refunded")
    expect(browser.locator("#order-items tbody tr", has_text="A-2")).not_to_contain_text("refunded")
