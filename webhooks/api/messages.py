"""`/v1/webhooks/messages`: the change feed."""

from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.openapi import PAGE_PARAMETERS, answers, page_of, text_filter
from holdfast.kernel.pagination import page
from holdfast.kernel.parameters import choice_parameter, id_parameter, moment_parameter
from tenants.api.views import TenantView
from tenants.scope import tenant_transaction
from webhooks.message_types import PATTERNS, types_of
from webhooks.queries.feed import ORDER, feed, get_message, message_json


class SubjectShown(serializers.Serializer[Any]):
    type = serializers.CharField()
    id = serializers.UUIDField()


class MessageShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    type = serializers.CharField()
    sequence = serializers.IntegerField(help_text="counts 1, 2, 3 for each subject")
    occurred_at = serializers.DateTimeField()
    tenant = serializers.UUIDField()
    subject = SubjectShown()
    data = serializers.DictField()  # type: ignore[assignment]


class Messages(TenantView):
    scopes = ("webhooks",)

    @extend_schema(
        operation_id="list_messages",
        parameters=[
            *PAGE_PARAMETERS,
            text_filter("type", enum=PATTERNS),
            text_filter("since", format="date-time"),
            text_filter("until", format="date-time"),
            text_filter("subject", format="uuid"),
        ],
        responses=answers({200: page_of(MessageShown)}),
    )
    def get(self, request: Request) -> Response:
        """Follow what happened, oldest first.

        Follow `next` to the end; later ask the last cursor again, and drop what you had. So no message is missed.
        `hold.*` stands for every type of holds, and so on.
        """
        query = request.query_params
        wanted = Q()
        if pattern := choice_parameter(query, "type", PATTERNS):
            wanted &= Q(type__in=types_of(pattern))
        if since := moment_parameter(query, "since"):
            wanted &= Q(occurred_at__gte=since)
        if until := moment_parameter(query, "until"):
            wanted &= Q(occurred_at__lt=until)
        if subject := id_parameter(query, "subject"):
            wanted &= Q(subject_id=subject)
        with tenant_transaction(self.tenant_id):
            name = self.list_name(request)
            return Response(page(feed().filter(wanted), query, name=name, represent=message_json, order=ORDER))


class OneMessage(TenantView):
    scopes = ("webhooks",)

    @extend_schema(operation_id="get_message", responses=answers({200: MessageShown}))
    def get(self, request: Request, message_id: UUID) -> Response:
        """Read a message."""
        with tenant_transaction(self.tenant_id):
            return Response(message_json(get_message(message_id)))
