"""What stands at the side of the organizers' admin."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from unfold.sites import UnfoldAdminSite

from reservations.admin.check_in import check_in_link
from tenants.admin.tenancy import role_of
from tenants.permissions import Action, role_may


def sidebar(site: UnfoldAdminSite, request: HttpRequest) -> list[dict[str, Any]]:
    """What the person's role lets them open, app by app."""
    groups = []
    if role_may(role_of(request), Action.REDEEM):
        groups.append({"title": "At the door", "items": [check_in_link(request)]})
    for app in site.get_app_list(request):
        items: list[dict[str, Any]] = []
        for model in app["models"]:
            page: Any = site.get_model_admin(model["model"])
            if page.in_sidebar:
                items += _list_links(request, page, model)
        groups.append({"title": app["name"], "items": items})
    if request.user.is_superuser:
        groups.append({"title": "Platform", "items": [_jobs_link(request)]})
    return groups


def join_link() -> dict[str, str]:
    """The way to the page that takes a join code."""
    return {"title": "Join an organizer", "link": reverse("admin:join")}


def _list_links(request: HttpRequest, page: Any, model: dict[str, Any]) -> list[dict[str, Any]]:
    """A list's entry in the sidebar, and those of the views of it that have names."""
    more = page.more_in_sidebar(request)
    link = model["admin_url"]
    active = request.path.startswith(link) and not any(entry["active"] for entry in more)
    title = page.sidebar_title or model["name"]
    own = {"title": title, "icon": page.icon, "link": link, "active": active, "has_permission": True}
    return [own, *more]


def _jobs_link(request: HttpRequest) -> dict[str, Any]:
    link = reverse("admin:jobs")
    active = request.path.startswith(link)
    return {"title": "Background jobs", "icon": "work_history", "link": link, "active": active, "has_permission": True}
