"""`/v1/events`: create, list, read, change, the moves of the status, and availability."""

from collections.abc import Callable
from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django.core.validators import slug_re
from django.http import HttpResponseNotModified
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.fields import MomentField, StrictIntegerField, StrictSerializer, TextField
from holdfast.kernel.money import EXPONENTS
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, example, page_of
from holdfast.kernel.pagination import page
from reservations.api.shown import AvailabilityShown, EventShown
from reservations.models import Event, EventKind
from reservations.models.event import (
    HOLD_EXTENSIONS_MAX,
    HOLD_TTL_SECONDS_MAX,
    HOLD_TTL_SECONDS_MIN,
    UNITS_PER_CUSTOMER_MAX,
    UNITS_PER_HOLD_MAX,
)
from reservations.operations.events import (
    change_event,
    close_event,
    create_event,
    pause_event,
    publish_event,
    resume_event,
)
from reservations.queries.availability import availability, read_availability
from reservations.queries.events import event_json, get_event
from tenants.api.idempotency import once
from tenants.api.views import NoMembers, TenantView
from tenants.scope import tenant_transaction

# these two mean something else on each machine
_ZONES = sorted(available_timezones() - {"localtime", "Factory"})


class CodeField(serializers.ChoiceField):
    """One of many codes, as text; the help text says which."""

    def __init__(self, choices: Any, *, help_text: str) -> None:
        super().__init__(choices, help_text=help_text, error_messages={"unknown": f"Must be {help_text}."})

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("unknown")
        return super().to_internal_value(data)


@extend_schema_field({"type": "string", "pattern": "^[-a-zA-Z0-9_]+$", "minLength": 1, "maxLength": 100})
class SlugField(TextField):
    """Letters, digits, hyphens and underscores, for use in addresses."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not slug_re.fullmatch(text):
            self.fail("invalid_slug")
        return text

    default_error_messages = {"invalid_slug": "Must be of letters, digits, hyphens and underscores."}


class EventBody(StrictSerializer):
    defaults = {"hold_ttl_seconds": 600, "hold_extensions_max": 2, "units_per_hold_max": 10}

    slug = SlugField(max_length=100)
    name = TextField(max_length=200)
    kind = CodeField(EventKind.choices, help_text=f"one of {', '.join(EventKind.values)}")
    currency = CodeField(sorted(EXPONENTS), help_text="a code of ISO 4217, such as EUR")
    timezone = CodeField(_ZONES, help_text="a name of the IANA time zone database, such as Europe/Berlin")
    starts_at = MomentField(required=False, allow_null=True)
    ends_at = MomentField(required=False, allow_null=True)
    sales_open_at = MomentField(required=False, allow_null=True)
    sales_close_at = MomentField(required=False, allow_null=True)
    hold_ttl_seconds = StrictIntegerField(
        required=False, min_value=HOLD_TTL_SECONDS_MIN, max_value=HOLD_TTL_SECONDS_MAX
    )
    hold_extensions_max = StrictIntegerField(required=False, min_value=0, max_value=HOLD_EXTENSIONS_MAX)
    units_per_hold_max = StrictIntegerField(required=False, min_value=1, max_value=UNITS_PER_HOLD_MAX)
    units_per_customer_max = StrictIntegerField(
        required=False, allow_null=True, min_value=1, max_value=UNITS_PER_CUSTOMER_MAX
    )


EXAMPLE = {
    "slug": "open-studio",
    "name": "Open studio",
    "kind": "seats",
    "currency": "EUR",
    "timezone": "Europe/Berlin",
    "hold_ttl_seconds": 600,
}


class Events(TenantView):
    scopes = ("events",)

    @extend_schema(
        operation_id="list_events", parameters=PAGE_PARAMETERS, responses=answers({200: page_of(EventShown)})
    )
    def get(self, request: Request) -> Response:
        """List events, oldest first."""
        with tenant_transaction(self.tenant_id):
            name = self.list_name(request)
            return Response(page(Event.objects.all(), request.query_params, name=name, represent=event_json))

    @extend_schema(
        operation_id="create_event",
        parameters=[IDEMPOTENCY_KEY],
        request=EventBody,
        examples=[example("Seats", EXAMPLE)],
        responses=answers({201: EventShown}),
    )
    @once
    def post(self, request: Request) -> Response:
        """Create an event, in draft."""
        event = create_event(tenant_id=self.tenant_id, **self.body(request, EventBody))
        return Response(event_json(event), status=201)


class OneEvent(TenantView):
    scopes = ("events",)

    @extend_schema(operation_id="get_event", responses=answers({200: EventShown}))
    def get(self, request: Request, event_id: UUID) -> Response:
        """Read an event."""
        with tenant_transaction(self.tenant_id):
            return Response(event_json(get_event(event_id)))

    @extend_schema(operation_id="change_event", request=EventBody(partial=True), responses=answers({200: EventShown}))
    def patch(self, request: Request, event_id: UUID) -> Response:
        """Change an event.

        What is left out stays. `kind` and `currency` can change only in a draft.
        """
        fields = self.body(request, EventBody, partial=True)
        return Response(event_json(change_event(tenant_id=self.tenant_id, event_id=event_id, **fields)))


class EventMove(TenantView):
    """One move of an event's status; a subclass for each, so that each is an operation of its own in the document."""

    scopes = ("events",)

    def _moved(self, request: Request, operation: Callable[..., Event], event_id: UUID) -> Response:
        self.no_body(request)
        return Response(event_json(operation(tenant_id=self.tenant_id, event_id=event_id)))


class PublishEvent(EventMove):
    @extend_schema(
        operation_id="publish_event",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: EventShown}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Put a draft on sale."""
        return self._moved(request, publish_event, event_id)


class PauseEvent(EventMove):
    @extend_schema(
        operation_id="pause_event",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: EventShown}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Pause the sale; holds that stand go on."""
        return self._moved(request, pause_event, event_id)


class ResumeEvent(EventMove):
    @extend_schema(
        operation_id="resume_event",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: EventShown}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Resume a paused sale."""
        return self._moved(request, resume_event, event_id)


class CloseEvent(EventMove):
    @extend_schema(
        operation_id="close_event",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: EventShown}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Close the sale, for good."""
        return self._moved(request, close_event, event_id)


class EventAvailability(TenantView):
    scopes = ("events",)

    @extend_schema(operation_id="get_availability", responses=answers({200: AvailabilityShown, 304: None}))
    def get(self, request: Request, event_id: UUID) -> Response | HttpResponseNotModified:
        """Count what is left, by section.

        Advisory, and up to a second old. With `If-None-Match` it answers 304 while status and figures are the same.
        """
        found = availability(self.tenant_id, event_id)
        if found is None:
            with tenant_transaction(self.tenant_id):
                found = read_availability(self.tenant_id, event_id)
        headers = {"ETag": found.etag, "Cache-Control": "private, max-age=1"}
        if _matches(request.META.get("HTTP_IF_NONE_MATCH", ""), found.etag):
            return HttpResponseNotModified(headers=headers)
        return Response(found.body, headers=headers)


def _matches(if_none_match: str, etag: str) -> bool:
    """RFC 9110, 13.1.2: weak comparison with any of the listed tags, or `*`."""
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return bool(tags & {etag, "*"})
