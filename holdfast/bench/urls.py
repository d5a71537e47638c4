"""HoldFast's own paths, and the view that measures what a request costs that does nothing."""

from django.urls import path

from holdfast import urls
from holdfast.bench.noop import Noop

urlpatterns = [path("v1/bench/noop", Noop.as_view()), *urls.urlpatterns]

handler400, handler404, handler500 = urls.handler400, urls.handler404, urls.handler500
