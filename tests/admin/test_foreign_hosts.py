"""A host name that is not ours: refused on every page, and the refusal says so."""

import logging

import pytest


@pytest.mark.parametrize(
    "path", ["/", "/admin/", "/admin/login/", "/admin/reservations/event/", "/static/x.css", "/nowhere"]
)
def test_it_is_refused_in_words_that_are_true(client, database_name, caplog, path):
    with caplog.at_level(logging.WARNING):
        answer = client.get(path, headers={"host": "evil.example"})
    assert answer.status_code == 400
    text = answer.content.decode()
    assert "HoldFast is not served under this host name" in text
    assert "can&#x27;t be read" not in text
    assert "href" not in text
    assert "evil.example" not in text
    (line,) = caplog.records
    assert (line.levelname, line.exc_info) == ("WARNING", None)


def test_it_lets_nobody_log_in(client, furnish, tenant):
    user = furnish(tenant).membership.user
    user.set_password("first-password")
    user.save()
    form = {"username": user.username, "password": "first-password"}
    assert client.post("/admin/login/", form, headers={"host": "evil.example"}).status_code == 400
    assert "_auth_user_id" not in client.session
    assert client.post("/admin/login/", form, headers={"host": "localhost:8000"}).status_code == 302
