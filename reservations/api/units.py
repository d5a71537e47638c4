"""`/v1/events/{id}/units`: create in bulk, list, block and unblock."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.fields import BoundedListField, MomentField, StrictIntegerField, StrictSerializer, TextField
from holdfast.kernel.money import AMOUNT_MAX
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, example, page_of, text_filter
from holdfast.kernel.pagination import page
from holdfast.kernel.parameters import choice_parameter, text_parameter
from reservations.api.shown import UnitsChanged, UnitsCreated, UnitShown
from reservations.models import Unit, UnitStatus
from reservations.operations.units import NewUnit, block_units, create_units, unblock_units
from reservations.queries.events import get_event
from reservations.queries.units import having_status, unit_json, with_status_now
from tenants.api.idempotency import once
from tenants.api.views import TenantView
from tenants.scope import tenant_transaction

UNITS_PER_CALL_MAX = 5_000


class PriceBody(StrictSerializer):
    amount = StrictIntegerField(min_value=0, max_value=AMOUNT_MAX)
    currency = TextField(max_length=3)


class UnitBody(StrictSerializer):
    label = TextField(max_length=Unit.LABEL_LENGTH_MAX)  # type: ignore[assignment]
    section = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False, allow_null=True)
    row = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False, allow_null=True)
    number = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False, allow_null=True)
    price = PriceBody(required=False, allow_null=True)
    starts_at = MomentField(required=False, allow_null=True)
    ends_at = MomentField(required=False, allow_null=True)


class UnitsBody(StrictSerializer):
    units = BoundedListField(child=UnitBody(), min_length=1, max_length=UNITS_PER_CALL_MAX)


class LabelsBody(StrictSerializer):
    labels = BoundedListField(
        child=TextField(max_length=Unit.LABEL_LENGTH_MAX), min_length=1, max_length=UNITS_PER_CALL_MAX
    )


EXAMPLE = {
    "units": [
        {"label": "Chair 1", "section": "Front", "price": {"amount": 1500, "currency": "EUR"}},
        {"label": "Chair 2"},
    ]
}


class Units(TenantView):
    scopes = ("events",)
    body_bytes_max = settings.BULK_BODY_BYTES_MAX

    @extend_schema(
        operation_id="list_units",
        parameters=[
            *PAGE_PARAMETERS,
            text_filter("status", enum=UnitStatus.values),
            text_filter("section"),
            text_filter("label"),
        ],
        responses=answers({200: page_of(UnitShown)}),
    )
    def get(self, request: Request, event_id: UUID) -> Response:
        """List the units of an event, oldest first."""
        query = request.query_params
        wanted = Q()
        if status := choice_parameter(query, "status", UnitStatus.values):
            wanted &= having_status(status)
        for name in ("section", "label"):
            if (text := text_parameter(query, name)) is not None:
                wanted &= Q(**{name: text})
        with tenant_transaction(self.tenant_id):
            event = get_event(event_id)
            units = with_status_now(Unit.objects.filter(wanted, event_id=event_id))
            name = self.list_name(request)
            return Response(page(units, query, name=name, represent=lambda unit: unit_json(unit, event)))

    @extend_schema(
        operation_id="create_units",
        parameters=[IDEMPOTENCY_KEY],
        request=UnitsBody,
        examples=[example("A chair with a price, and one without", EXAMPLE)],
        responses=answers({201: UnitsCreated}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Create up to 5,000 units, all or none."""
        rows = self.body(request, UnitsBody)["units"]
        created = create_units(tenant_id=self.tenant_id, event_id=event_id, units=[_new_unit(row) for row in rows])
        return Response({"created": created}, status=201)


def _new_unit(row: dict[str, Any]) -> NewUnit:
    price = row.get("price")
    return NewUnit(
        label=row["label"],
        section=row.get("section") or "",
        row=row.get("row") or "",
        number=row.get("number") or "",
        price_amount=price["amount"] if price else 0,
        price_currency=price["currency"] if price else None,
        starts_at=row.get("starts_at"),
        ends_at=row.get("ends_at"),
    )


class BlockUnits(TenantView):
    scopes = ("events",)

    @extend_schema(
        operation_id="block_units",
        parameters=[IDEMPOTENCY_KEY],
        request=LabelsBody,
        responses=answers({200: UnitsChanged}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Take units off sale, all or none."""
        labels = self.body(request, LabelsBody)["labels"]
        return Response({"changed": block_units(tenant_id=self.tenant_id, event_id=event_id, labels=labels)})


class UnblockUnits(TenantView):
    scopes = ("events",)

    @extend_schema(
        operation_id="unblock_units",
        parameters=[IDEMPOTENCY_KEY],
        request=LabelsBody,
        responses=answers({200: UnitsChanged}),
    )
    @once
    def post(self, request: Request, event_id: UUID) -> Response:
        """Put blocked units back on sale, all or none."""
        labels = self.body(request, LabelsBody)["labels"]
        return Response({"changed": unblock_units(tenant_id=self.tenant_id, event_id=event_id, labels=labels)})
