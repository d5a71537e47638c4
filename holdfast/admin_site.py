"""The organizers' admin: one tenant at a time, each page inside that tenant's transaction.

Only what is registered here exists. It is a site of its own: pages that other packages add for "any staff" are not
on it.
"""

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import LogEntry
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.views.decorators.http import require_POST
from unfold.sites import UnfoldAdminSite

from holdfast.admin_sidebar import join_link, sidebar
from holdfast.jobs_page import JobsPages
from holdfast.kernel.errors import Invalid, Refusal
from holdfast.kernel.forms import refuse_unreadable
from holdfast.kernel.problems import refusal_of
from reservations.admin.check_in import CheckIn
from tenants.actor import acting_as
from tenants.admin.login import JoinForm, LoginForm, PasswordForm
from tenants.admin.tenancy import Tenancy, choose, enter, role_of, tenancy_of
from tenants.models import User
from tenants.operations.members import join
from tenants.permissions import Action, role_may
from tenants.scope import tenant_transaction

View = Callable[..., HttpResponseBase]
NO_TENANT = "There is no organizer here that you belong to. Ask an owner to add you; if you have a join code, enter it."
NO_TENANT_YET = (
    "There is no organizer yet. On the server, `./hold manage create_tenant SLUG` makes one; then reload this page."
)
CHANGE_IT = "Choose a password of your own first: whoever added your login was shown the one it has."


class OrganizerSite(UnfoldAdminSite):  # type: ignore[misc]
    """The admin under /admin/."""

    site_url = None
    login_form = LoginForm
    # they look things up across what a person may see, or hold on to it
    unwanted = frozenset({"search", "view_on_site"})

    def has_permission(self, request: HttpRequest) -> bool:
        """Anyone who is logged in gets a page; `person_view` and `admin_view` decide which."""
        return request.user.is_active

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # noqa: FBT001, FBT002
        """The view for those who are logged in, run and rendered inside their tenant's transaction.

        A refusal undoes all of it and becomes a message.
        """

        if self._is_of_ones_login(view):
            return self.person_view(view, cacheable)

        def inside(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            tenancy = tenancy_of(request)
            if tenancy.tenant is None:
                return self._no_tenant(request)
            if tenancy.lost or _is_of_another_tenant(request, tenancy):
                messages.warning(request, f"You are in {tenancy.tenant} now; nothing was changed.")
                return redirect("admin:index")
            with acting_as(_actor(request, tenancy)), tenant_transaction(tenancy.tenant.id):
                return _rendered(view(request, *args, **kwargs))

        return self.person_view(update_wrapper(inside, view), cacheable)

    def person_view(self, view: View, cacheable: bool = False) -> View:  # noqa: FBT001, FBT002
        """The view for anyone who is logged in, in no tenant's transaction. A refusal becomes a message.

        Who has a password that somebody else was shown is sent to change it, whatever they asked for.
        """

        def inside(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            refuse_unreadable(request)
            enter(request)
            if getattr(request.user, "must_change_password", False) and not self._is_of_ones_login(view):
                messages.warning(request, CHANGE_IT)
                return redirect("admin:password_change")
            try:
                return view(request, *args, **kwargs)
            except (Refusal, ValidationError, DatabaseError) as error:
                refusal = _refusal(error)
                if refusal is None:
                    raise
                return self._refused(request, refusal)

        return super().admin_view(update_wrapper(inside, view), cacheable)  # type: ignore[no-any-return]

    def _is_of_ones_login(self, view: View) -> bool:
        return view in (self.logout, self.password_change, self.password_change_done)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        urls = [url for url in super().get_urls() if getattr(url, "name", None) not in self.unwanted]
        jobs = JobsPages(self)
        return [
            path("tenant/", require_POST(self.switch_tenant), name="tenant"),
            path("check-in/", self.admin_view(CheckIn(self).show), name="check_in"),
            path("join/", self.person_view(self.join), name="join"),
            path("jobs/", self.staff_view(jobs.show), name="jobs"),
            path("jobs/run-again/", self.staff_view(require_POST(jobs.run_again)), name="jobs_run_again"),
            path("jobs/discard/", self.staff_view(require_POST(jobs.discard)), name="jobs_discard"),
            *urls,
        ]

    def staff_view(self, view: Callable[[HttpRequest], HttpResponse]) -> View:
        """The view for platform staff, in no tenant's transaction; for anybody else it does not exist."""

        @wraps(view)
        def inside(request: HttpRequest) -> HttpResponse:
            if not request.user.is_superuser:
                raise Http404
            return view(request)

        return self.person_view(inside)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        refuse_unreadable(request)
        return super().login(request, extra_context)  # type: ignore[no-any-return]

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """In place of unfold's, which takes no other form."""
        request.current_app = self.name
        return PasswordChangeView.as_view(
            form_class=PasswordForm,
            success_url=reverse("admin:password_change_done"),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )(request)

    def switch_tenant(self, request: HttpRequest) -> HttpResponse:
        """Go to another of one's tenants, by slug."""
        refuse_unreadable(request)
        if not self.has_permission(request):
            return redirect("admin:login")
        if not choose(request, request.POST.get("tenant", "")):
            messages.error(request, "There is no such organizer here.")
        return redirect("admin:index")

    def join(self, request: HttpRequest) -> HttpResponse:
        """Become a member of the tenant that one was invited to, by the code that its owner was shown."""
        form = JoinForm(request.POST if request.method == "POST" else None)
        if form.is_valid() and isinstance(request.user, User):
            try:
                membership = join(user=request.user, code=form.cleaned_data["code"])
            except Invalid as refusal:
                form.add_error("code", refusal.errors[0].detail)
            else:
                choose(request, membership.tenant.slug)
                messages.success(request, f"You belong to {membership.tenant} now.")
                return redirect("admin:index")
        request.current_app = self.name
        context = {**self.each_context(request), "title": "Join an organizer", "form": form}
        return TemplateResponse(request, "admin/join.html", context)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        role = role_of(request)
        if role_may(role, Action.READ):
            return redirect("admin:reservations_event_changelist")
        if role_may(role, Action.REDEEM):
            return redirect("admin:check_in")
        return self.notice(request, f"Your role, {role}, has no pages here yet.")

    def notice(
        self, request: HttpRequest, text: str, status: int = 200, link: dict[str, str] | None = None
    ) -> HttpResponse:
        """A page with one sentence, and where to go from there."""
        context = {**self.each_context(request), "title": "HoldFast", "text": text, "notice_link": link}
        request.current_app = self.name
        return TemplateResponse(request, "admin/notice.html", context, status=status)

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        """In place of unfold's, which knows no roles."""
        return sidebar(self, request)

    def _get_account_links(self, request: HttpRequest) -> list[dict[str, Any]]:
        """What the menu under the person's name has beside the way out."""
        return [{"title": "Change password", "link": reverse("admin:password_change")}, join_link()]

    def get_log_entries(self, request: HttpRequest) -> QuerySet[LogEntry]:
        """None: the log has no tenant. An object's own history shows who changed it."""
        return LogEntry.objects.none()

    def _no_tenant(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_superuser:  # who sees every one there is
            return self.notice(request, NO_TENANT_YET)
        return self.notice(request, NO_TENANT, 403, link=join_link())

    def _refused(self, request: HttpRequest, refusal: Refusal) -> HttpResponse:
        if request.method != "POST":
            return self.notice(request, refusal.detail, refusal.status)
        messages.error(request, refusal.detail)
        return redirect(request.get_full_path())


def _actor(request: HttpRequest, tenancy: Tenancy) -> str:
    """The person as a timeline names them."""
    role = "platform staff" if request.user.is_superuser else tenancy.role
    return f"{request.user.get_username()} ({role})"


def _is_of_another_tenant(request: HttpRequest, tenancy: Tenancy) -> bool:
    """Whether a form was opened in one tenant and sent in another, as happens with two windows."""
    opened_in = request.POST.get("_tenant", "") if request.method == "POST" else ""
    return bool(opened_in) and tenancy.tenant is not None and opened_in != tenancy.tenant.slug


def _rendered(response: HttpResponseBase) -> HttpResponseBase:
    if isinstance(response, TemplateResponse):
        response.render()
    return response


def _refusal(error: Exception) -> Refusal | None:
    if isinstance(error, ValidationError):  # an id that is none, among those selected
        return Invalid.at("", "invalid", " ".join(error.messages))
    return refusal_of(error)
