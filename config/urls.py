from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config import health
from config.api import api

handler400 = "config.problems.bad_request"
handler404 = "config.problems.not_found"
handler500 = "config.problems.failure"


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


urlpatterns = [
    # Nothing is changed by them: a wrong method is a 405, not a forged form.
    path("healthz", csrf_exempt(require_safe(health.healthz))),
    path("readyz", csrf_exempt(require_safe(health.readyz))),
    path("metrics", csrf_exempt(require_safe(health.metrics))),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("", csrf_exempt(require_safe(home))),
]
