from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from config import health
from config.api import api

handler400 = "config.problems.bad_request"
handler404 = "config.problems.not_found"
handler500 = "config.problems.failure"


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("", home),
]
