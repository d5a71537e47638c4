"""`/v1/payments/callbacks/…`: where payment providers tell that something happened.

No API key: the signature is the proof.
"""

from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from holdfast.kernel.errors import Invalid, Refusal
from holdfast.kernel.http import loads_object, raw_body
from holdfast.kernel.openapi import PROBLEM, Problem
from reservations.checkout.callbacks import receive
from reservations.checkout.provider import BadSignature, UnreadableCallback


class BadCallback(Refusal):
    status, slug, title = 401, "bad-signature", "The signature does not fit"


class PaymentCallbacks(APIView):
    authentication_classes = ()
    permission_classes = ()
    http_method_names = ["post"]

    @extend_schema(
        operation_id="receive_payment_callback",
        request=None,
        responses={200: None, **{(status, PROBLEM): Problem for status in (400, 401, 404, 413, 422, 503)}},
    )
    def post(self, request: Request, provider: str, account_id: UUID) -> Response:
        """Take a payment provider's callback.

        The signature is checked over the raw body, before anything else of it. 200 once it is stored; the same one
        again changes nothing.
        """
        body = raw_body(request._request, settings.BODY_BYTES_MAX)  # noqa: SLF001 - the raw bytes, and no parser
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            receive(provider=provider, account_id=account_id, body=body, headers=headers)
        except UnreadableCallback as error:
            loads_object(body)
            raise Invalid.at("", "no_event", "This is no event of the provider.") from error
        except BadSignature as error:
            raise BadCallback from error
        return Response({})
