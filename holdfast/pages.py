"""What is answered where no view answers: problem documents to machines, Django's plain pages to people."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views import defaults
from drf_spectacular.views import SpectacularSwaggerView

from holdfast.kernel.problems import generic_document, problem_response
from holdfast.observability.middleware import is_api_path


def read_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A machine's page that is only read: any other method gets 405, as a problem document."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        response = problem_response(request, generic_document(405))
        response["Allow"] = "GET, HEAD"
        return response

    return answered


docs = SpectacularSwaggerView.as_view(url_name="openapi")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api_path(request.path_info):
        return problem_response(request, generic_document(400))
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api_path(request.path_info):
        return problem_response(request, generic_document(404))
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    if is_api_path(request.path_info):
        return problem_response(request, generic_document(500))
    return defaults.server_error(request)
