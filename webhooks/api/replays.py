"""`/v1/webhooks/endpoints/{id}/replay` begins a replay, `/v1/webhooks/replays/{id}` shows how far it has come."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.fields import BoundedListField, MomentField, StrictSerializer
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, answers, example
from tenants.api.idempotency import once
from tenants.api.views import TenantView
from tenants.scope import tenant_transaction
from webhooks.api.fields import PatternField
from webhooks.api.shown import ReplayBegunShown, ReplayShown
from webhooks.models import Endpoint, ReplayedStatus
from webhooks.operations.replays import Selection, begin_replay
from webhooks.queries.replays import get_replay, replay_json


class ReplayBody(StrictSerializer):
    defaults = {"status": ReplayedStatus.ALL.value}

    since = MomentField(help_text="the first moment")
    until = MomentField(required=False, allow_null=True, help_text="before that moment; else up to now")
    types = BoundedListField(
        child=PatternField(),
        required=False,
        allow_null=True,
        min_length=1,
        max_length=Endpoint.EVENTS_MAX,
        help_text="types of messages, and patterns such as hold.*; else those that the endpoint asks for",
    )
    status = serializers.ChoiceField(
        ReplayedStatus.choices, required=False, help_text="dead: only what the endpoint was told in vain"
    )


class ReplayEndpoint(TenantView):
    scopes = ("webhooks",)

    @extend_schema(
        operation_id="begin_replay",
        parameters=[IDEMPOTENCY_KEY],
        request=ReplayBody,
        examples=[
            example("All since New Year", {"since": "2026-01-01T00:00:00Z"}),
            example("What never arrived", {"since": "2026-01-01T00:00:00Z", "types": ["order.*"], "status": "dead"}),
        ],
        responses=answers({202: ReplayBegunShown}),
    )
    @once
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Tell an endpoint of the past once more, at a gentle rate.

        Also what happened while it was disabled. The messages keep their ids. At most 10,000; 409 where the endpoint is
        disabled.
        """
        selection = Selection(**self.body(request, ReplayBody))
        replay = begin_replay(tenant_id=self.tenant_id, endpoint_id=endpoint_id, selection=selection)
        return Response({"replay": str(replay.id), "matched": replay.matched}, status=202)


class OneReplay(TenantView):
    scopes = ("webhooks",)

    @extend_schema(operation_id="get_replay", responses=answers({200: ReplayShown}))
    def get(self, request: Request, replay_id: UUID) -> Response:
        """Read how far a replay has come."""
        with tenant_transaction(self.tenant_id):
            return Response(replay_json(get_replay(replay_id)))
