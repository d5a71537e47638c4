"""`/v1/holds`: make a hold, read one, list them."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.errors import FieldError, Invalid
from holdfast.kernel.fields import (
    BoundedListField,
    IdField,
    MetadataField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, example, page_of, text_filter
from holdfast.kernel.pagination import page
from holdfast.kernel.parameters import choice_parameter, id_parameter, text_parameter
from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest, Refused, Replayed
from reservations.api.shown import HoldShown
from reservations.customers import customer_key, normalised
from reservations.models import Hold, HoldStatus, Unit
from reservations.models.event import HOLD_TTL_SECONDS_MAX, HOLD_TTL_SECONDS_MIN, UNITS_PER_HOLD_MAX
from reservations.operations.holds import extend_hold, release_hold
from reservations.queries.holds import get_hold, having_status, hold_json, holds_now
from tenants.api.idempotency import claim_of, judged_before_its_key, once, replayed
from tenants.api.views import TenantView
from tenants.idempotency import Claim
from tenants.scope import tenant_transaction

WAYS_TO_CHOOSE = ("units", "labels", "quantity")
# a list longer than any event's limit is read as far as this, to be told that it is over the limit
NAMED_MAX = 10 * UNITS_PER_HOLD_MAX


class CustomerField(TextField):
    """A customer's text, kept as given; something must be left of it once it is trimmed."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=Hold.CUSTOMER_LENGTH_MAX, trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not normalised(text):
            self.fail("blank")
        return text


class HoldBody(StrictSerializer):
    event = IdField()
    units = BoundedListField(child=IdField(), required=False, min_length=1, max_length=NAMED_MAX)
    labels = BoundedListField(
        child=TextField(max_length=Unit.LABEL_LENGTH_MAX), required=False, min_length=1, max_length=NAMED_MAX
    )
    quantity = StrictIntegerField(required=False, min_value=1)
    section = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False, allow_null=True)
    customer = CustomerField()
    ttl_seconds = StrictIntegerField(
        required=False, allow_null=True, min_value=HOLD_TTL_SECONDS_MIN, max_value=HOLD_TTL_SECONDS_MAX
    )
    metadata = MetadataField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        chosen = [way for way in WAYS_TO_CHOOSE if way in attrs]
        if not chosen:
            raise Invalid.at("/units", "required", f"Choose by one of {', '.join(WAYS_TO_CHOOSE)}.")
        if len(chosen) > 1:
            detail = f"Choose by one of {', '.join(WAYS_TO_CHOOSE)} alone."
            raise Invalid([FieldError(f"/{way}", "exclusive", detail) for way in chosen])
        if attrs.get("section") is not None and chosen != ["quantity"]:
            raise Invalid.at("/section", "exclusive", "A section goes with a quantity.")
        _refuse_repeats(chosen[0], attrs[chosen[0]])
        return attrs


def _refuse_repeats(way: str, names: Any) -> None:
    if way == "quantity":
        return
    faults = [
        FieldError(f"/{way}/{index}", "duplicate", "Is named more than once.")
        for index, name in enumerate(names)
        if name in names[:index]
    ]
    if faults:
        raise Invalid(faults)


def _hold_request(body: dict[str, Any], claim: Claim | None) -> HoldRequest:
    return HoldRequest(
        event_id=body["event"],
        customer=body["customer"],
        unit_ids=tuple(body.get("units", ())),
        labels=tuple(body.get("labels", ())),
        quantity=body.get("quantity", 0),
        section=body.get("section"),
        ttl_seconds=body.get("ttl_seconds"),
        metadata=body.get("metadata", {}),
        claim=claim,
    )


# the event's id is to be put in
_ASKED = {"event": "00000000-0000-7000-8000-000000000000", "customer": "ada@example.org"}


class Holds(TenantView):
    scopes = ("holds",)

    @extend_schema(
        operation_id="list_holds",
        parameters=[
            *PAGE_PARAMETERS,
            text_filter("event", format="uuid"),
            text_filter("status", enum=HoldStatus.values),
            text_filter("customer"),
        ],
        responses=answers({200: page_of(HoldShown)}),
    )
    def get(self, request: Request) -> Response:
        """List holds, oldest first."""
        query = request.query_params
        wanted = Q()
        if event_id := id_parameter(query, "event"):
            wanted &= Q(event_id=event_id)
        if status := choice_parameter(query, "status", HoldStatus.values):
            wanted &= having_status(status)
        if (customer := text_parameter(query, "customer")) is not None:
            wanted &= Q(customer_key=customer_key(customer))
        with tenant_transaction(self.tenant_id):
            holds = holds_now().filter(wanted)
            return Response(page(holds, query, name=self.list_name(request), represent=_shown))

    @extend_schema(
        operation_id="create_hold",
        parameters=[IDEMPOTENCY_KEY],
        request=HoldBody,
        examples=[
            example("Any two", {**_ASKED, "quantity": 2}),
            example("Any two of a section", {**_ASKED, "quantity": 2, "section": "Balcony", "ttl_seconds": 300}),
            example("By label", {**_ASKED, "labels": ["Stalls A-1", "Stalls A-2"]}),
        ],
        responses=answers({201: HoldShown}),
    )
    def post(self, request: Request) -> Response:
        """Hold units, all or none.

        Choose by one of `units` (ids), `labels`, or `quantity` (any that are free, of a `section` if one is named).
        """
        claim = claim_of(request, principal_id=self.principal.api_key_id)
        with judged_before_its_key(claim, self.tenant_id):
            asked = _hold_request(self.body(request, HoldBody), claim)
        (outcome,) = allocate(tenant_id=self.tenant_id, requests=[asked])
        match outcome:
            case Granted(body=body):
                return Response(body, status=201, headers={"Location": f"/v1/holds/{body['id']}"})
            case Refused(refusal):
                raise refusal
            case Replayed(answer):
                response = replayed(request, answer)
                if answer.status == HTTPStatus.CREATED:
                    response["Location"] = f"/v1/holds/{answer.body['id']}"
                return response
        raise AssertionError(outcome)


class OneHold(TenantView):
    scopes = ("holds",)

    @extend_schema(operation_id="get_hold", responses=answers({200: HoldShown}))
    def get(self, request: Request, hold_id: UUID) -> Response:
        """Read a hold."""
        with tenant_transaction(self.tenant_id):
            return Response(_shown(get_hold(hold_id)))


class ExtendBody(StrictSerializer):
    seconds = StrictIntegerField(
        required=False, allow_null=True, min_value=HOLD_TTL_SECONDS_MIN, max_value=HOLD_TTL_SECONDS_MAX
    )


class ExtendHold(TenantView):
    scopes = ("holds",)

    @extend_schema(
        operation_id="extend_hold",
        parameters=[IDEMPOTENCY_KEY],
        request=ExtendBody,
        responses=answers({200: HoldShown}, 410),
    )
    @once
    def post(self, request: Request, hold_id: UUID) -> Response:
        """Extend a hold: its full term again, or `seconds`, counted from now.

        Never shortens it. An event says how often this may be done; each call that succeeds counts, also one that asks
        for less than the hold has left and so moves nothing. A retry with the same `Idempotency-Key` does not.
        """
        seconds = self.optional_body(request, ExtendBody).get("seconds")
        return Response(_shown(extend_hold(tenant_id=self.tenant_id, hold_id=hold_id, seconds=seconds)))


class ReleaseBody(StrictSerializer):
    reason = TextField(required=False, allow_null=True, allow_blank=True, max_length=Hold.RELEASE_REASON_LENGTH_MAX)


class ReleaseHold(TenantView):
    scopes = ("holds",)

    @extend_schema(
        operation_id="release_hold",
        parameters=[IDEMPOTENCY_KEY],
        request=ReleaseBody,
        responses=answers({200: HoldShown}, 410),
    )
    @once
    def post(self, request: Request, hold_id: UUID) -> Response:
        """Give the units of a hold back.

        A second time changes nothing and answers as the first.
        """
        reason = self.optional_body(request, ReleaseBody).get("reason") or ""
        return Response(_shown(release_hold(tenant_id=self.tenant_id, hold_id=hold_id, reason=reason)))


def _shown(hold: Any) -> dict[str, Any]:
    return hold_json(hold, hold.event, hold.now, hold.order_now)
