"""What is answered where no view answers: problem documents to machines, Django's plain pages to people."""

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from holdfast.kernel.problems import generic_document, problem_response
from holdfast.observability.middleware import is_api_path


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
