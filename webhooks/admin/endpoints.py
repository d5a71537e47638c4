"""Endpoints: where things are told, how it goes, and what can be done about it."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.admin import ActionLocation, action, display
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from holdfast.kernel.clock import Now
from tenants.admin.base import BOTH_PAGES, TenantAdmin, badge
from tenants.admin.links import ANCHOR
from tenants.permissions import Action
from tenants.scope import current_tenant_id
from webhooks.admin import words
from webhooks.admin.endpoint_form import EndpointForm
from webhooks.admin.filters import URL_SHOWN_MAX, EndpointFilter
from webhooks.admin.replay import replay, replays_shown
from webhooks.admin.rotate import rotate
from webhooks.models import DeliveryStatus, Endpoint, EndpointStatus
from webhooks.operations.endpoints import delete_endpoint, disable_endpoint, enable_endpoint, ping_endpoint
from webhooks.queries.endpoints import backlogs, endpoints
from webhooks.retry import DISABLED_AFTER

View = Callable[[Any, HttpRequest, Any], HttpResponse]
ONCE = (
    "This is the secret that signs what is sent there, as Standard Webhooks has it. It is shown this once: give it to "
    "whoever listens there. Then try it: open the endpoint and press Ping."
)
PINGED = "A ping is on its way. This page says what comes of it: reload it in a moment."
PAGES: dict[str, tuple[str, View]] = {"replay": ("Replay", replay), "rotate": ("Rotate the secret", rotate)}
HEALTH = [
    ("state", "why_disabled"),
    ("last_success", "failures"),
    ("failing", "disabled_at_latest"),
    ("resting_until", "created"),
    ("waiting", "dead"),
]


class EndpointAdmin(TenantAdmin):
    """A list that says how each does, a form, buttons, and pages for what has to be asked first."""

    reading = writing = Action.MANAGE_WEBHOOKS
    form = EndpointForm
    icon = "webhook"
    list_display = ["address", "description", "state", "why_disabled", "last_success", "failures", "resting_until"]
    list_display += ["waiting", "dead"]
    list_filter = ["status"]
    search_fields = ["url", "description"]
    search_help_text = "URL or description"
    ordering = ["id"]
    actions = ["ping", "enable", "disable"]
    fieldsets = [(None, {"fields": ["url", "description", "events"]}), ("How it does", {"fields": HEALTH})]
    add_fieldsets = fieldsets[:1]
    readonly_fields = [name for line in HEALTH for name in line]
    change_form_outer_after_template = "admin/webhooks/endpoint/replays.html"

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(self._view(view)),
                name=f"webhooks_endpoint_{name}",
            )
            for name, (_, view) in PAGES.items()
        ]
        return [*own, *super().get_urls()]

    def _view(self, view: View) -> Callable[..., HttpResponseBase]:
        def inside(request: HttpRequest, object_id: str) -> HttpResponseBase:
            if not self.has_change_permission(request):
                raise PermissionDenied
            endpoint = self.get_object(request, object_id)
            if endpoint is None:
                return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[no-any-return]
            return view(self, request, endpoint)

        return inside

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return endpoints().defer("secrets").annotate(now=Now())

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = list(changelist.result_list)
        _note_backlogs(changelist.result_list)
        return changelist

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            _note_backlogs([obj])
            context["replays"] = replays_shown(obj)
            context["object_links"] = _links(obj)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        useless = {"ping", "disable"} if obj.status == EndpointStatus.DISABLED else set()
        if obj.status == EndpointStatus.ENABLED and not obj.failures:
            useless = {"enable"}
        return [(name, label) for name, label in super().object_actions(request, obj) if name not in useless]

    @action(permissions=["change"], description="Ping", location=ActionLocation.CHANGE_FORM)
    def ping(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        delivery_id = ping_endpoint(tenant_id=current_tenant_id(), endpoint_id=queryset.get().id)
        messages.success(request, PINGED)
        return redirect("admin:webhooks_delivery_change", delivery_id)

    @action(permissions=["change"], description="Enable, and forget its failures", location=BOTH_PAGES)
    def enable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for endpoint in queryset.order_by("id"):
            enable_endpoint(tenant_id=current_tenant_id(), endpoint_id=endpoint.id)
            self.log_change(request, endpoint, "Enabled.")
            self.message_user(request, f"{endpoint} is enabled; what happened while it was not can be replayed.")

    @action(permissions=["change"], description="Disable", location=BOTH_PAGES)
    def disable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for endpoint in queryset.order_by("id"):
            disable_endpoint(tenant_id=current_tenant_id(), endpoint_id=endpoint.id)
            self.log_change(request, endpoint, "Disabled.")
            self.message_user(request, f"{endpoint} is disabled: nothing more is sent there.")

    def delete_model(self, request: HttpRequest, obj: Endpoint) -> None:
        delete_endpoint(tenant_id=current_tenant_id(), endpoint_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for endpoint in queryset.order_by("id"):
            self.delete_model(request, endpoint)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        obj.secret_once = getattr(form, "secret", "")

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self.secret_page(request, title=f"{obj} was added", explanation=ONCE, secret=obj.secret_once)

    @display(description="URL", ordering="url")
    def address(self, endpoint: Endpoint) -> str:
        return Truncator(endpoint.url).chars(URL_SHOWN_MAX)

    @badge("State", words.ENDPOINT_STATES, ordering="status")
    def state(self, endpoint: Any) -> str:
        if endpoint.status == EndpointStatus.DISABLED:
            return str(endpoint.status)
        if _resting_until(endpoint):
            return "resting"
        return "failing" if endpoint.failures else "enabled"

    @display(description="Why it is disabled")
    def why_disabled(self, endpoint: Endpoint) -> str:
        return words.REASONS[endpoint.disabled_reason] if endpoint.disabled_reason else ""

    @display(description="Last success", ordering="last_success_at")
    def last_success(self, endpoint: Endpoint) -> str:
        return words.at(endpoint.last_success_at)

    @display(description="Failures in a row", ordering="failures")
    def failures(self, endpoint: Endpoint) -> int:
        return endpoint.failures

    @display(description="Failing since")
    def failing(self, endpoint: Endpoint) -> str:
        return words.at(endpoint.failing_since)

    @display(description="Disabled at the latest, if it goes on failing")
    def disabled_at_latest(self, endpoint: Endpoint) -> str:
        goes_on = endpoint.failing_since and endpoint.status == EndpointStatus.ENABLED
        return words.at(endpoint.failing_since + DISABLED_AFTER) if goes_on and endpoint.failing_since else ""

    @display(description="Resting until")
    def resting_until(self, endpoint: Any) -> str:
        return words.at(_resting_until(endpoint))

    @display(description="Waiting")
    def waiting(self, endpoint: Any) -> SafeString:
        return format_html(ANCHOR, _deliveries(endpoint, DeliveryStatus.PENDING), endpoint.backlog.pending)

    @display(description="Dead letters")
    def dead(self, endpoint: Any) -> SafeString:
        return format_html(ANCHOR, _deliveries(endpoint, DeliveryStatus.DEAD), endpoint.backlog.dead)

    @display(description="Added")
    def created(self, endpoint: Endpoint) -> str:
        return words.at(endpoint.created_at)


def _note_backlogs(shown: Iterable[Any]) -> None:
    by_id = {endpoint.id: endpoint for endpoint in shown}
    for endpoint_id, backlog in backlogs(by_id).items():
        by_id[endpoint_id].backlog = backlog


def _resting_until(endpoint: Any) -> datetime | None:
    is_resting = endpoint.breaker_until is not None and endpoint.breaker_until > endpoint.now
    return endpoint.breaker_until if is_resting and endpoint.status == EndpointStatus.ENABLED else None


def _links(endpoint: Endpoint) -> list[tuple[str, str]]:
    pages = [
        (label, reverse(f"admin:webhooks_endpoint_{name}", args=[endpoint.id])) for name, (label, _) in PAGES.items()
    ]
    return [("Deliveries", _deliveries(endpoint)), *pages]


def _deliveries(endpoint: Endpoint, status: str = "") -> str:
    """The list of what is sent there, or of that which is so."""
    of_status = f"&status__exact={status}" if status else ""
    return f"{reverse('admin:webhooks_delivery_changelist')}?{EndpointFilter.parameter_name}={endpoint.id}{of_status}"
