"""`TenantView`: what every API view of a tenant does the same way."""

from typing import Any, ClassVar, cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from holdfast.kernel.awaited import known
from holdfast.kernel.errors import Malformed
from holdfast.kernel.fields import StrictSerializer
from holdfast.kernel.http import body_length, measure_chunked_body
from tenants.actor import act_as, acting_as
from tenants.api import security
from tenants.authentication import ApiKeyAuthentication, Principal
from tenants.permissions import HasScope

# the document learns of a scheme when it is imported
__all__ = ["NoMembers", "TenantView", "has_body", "security"]


class NoMembers(StrictSerializer):
    """A body, where a client sends one to a call that takes none: `{}`."""


class TenantView(APIView):
    """An API view inside one tenant. `scopes` serve it beside `admin`; see `tenants.permissions.HasScope`."""

    authentication_classes = (ApiKeyAuthentication,)
    permission_classes = (HasScope,)
    http_method_names = ["get", "head", "post", "patch", "delete"]
    scopes: ClassVar[tuple[str, ...]] = ()
    readable: ClassVar[bool] = True

    body_bytes_max: ClassVar[int] = settings.BODY_BYTES_MAX

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # a thread serves one request after another: what is said of this one ends with it
        with acting_as(""):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        act_as(self.principal.name)
        # only now, for a body that is slow to come keeps a thread waiting: not for strangers
        known(request._request)  # noqa: SLF001 - DRF has no other door to it
        measure_chunked_body(request._request, self.body_bytes_max)  # noqa: SLF001

    @property
    def principal(self) -> Principal:
        # HasScope let no one else in
        return cast("Principal", self.request.auth)

    @property
    def tenant_id(self) -> UUID:
        return self.principal.tenant_id

    def body(self, request: Request, serializer_class: type[BaseSerializer[Any]], **kwargs: Any) -> dict[str, Any]:
        """The validated body. Raises Malformed where there is none, ValidationError where it is wrong."""
        if not has_body(request):
            raise Malformed("This call needs a JSON body.")
        serializer = serializer_class(data=request.data, **kwargs)
        serializer.is_valid(raise_exception=True)
        validated: dict[str, Any] = serializer.validated_data
        return validated

    def optional_body(self, request: Request, serializer_class: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The validated body, `{}` where there is none. Raises ValidationError where it is wrong."""
        return self.body(request, serializer_class) if has_body(request) else {}

    def no_body(self, request: Request) -> None:
        """For calls that take no body: an empty object is fine too. Raises ValidationError for any member."""
        self.optional_body(request, NoMembers)

    def list_name(self, request: Request) -> str:
        """Whose list it is: binds a cursor to the tenant and the path."""
        return f"{self.tenant_id}{request.path}"


def has_body(request: Request) -> bool:
    """Whether the client sent a body at all."""
    return body_length(request.META) > 0
