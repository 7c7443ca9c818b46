"""Deliveries, and all dead ones of them sent again: a job, however many they are."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path

from config.console import jobs
from gateway_app import outbox
from gateway_app.admin.deliveries import DeliveryAdmin
from gateway_app.models import Delivery, DeliveryState
from sessions_app.models import OperatorJob

SEND_AGAIN = "send again"
# Of one job. The rest stays dead, and the list offers it anew.
MOST = 20_000
AT_ONCE = 200
REFUSED = "It is not dead any more."

admin.site.unregister(Delivery)


@admin.register(Delivery)
class AllDeliveriesAdmin(DeliveryAdmin):
    list_before_template = "console/all_dead.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.all_view)
        return [path("all/send-again/", view, name="console_send_all_again"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        dead = 0
        if self.has_change_permission(request):
            dead = _dead().order_by()[:MOST].count()
        answer: HttpResponse = super().changelist_view(request, {"dead": dead, **(extra_context or {})})
        return answer

    def all_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" or not self.has_change_permission(request):
            raise PermissionDenied
        rows = list(_dead().order_by("pk").values_list("pk", flat=True)[:MOST])
        job = jobs.start(request.user, SEND_AGAIN, rows)
        return redirect("admin:sessions_app_operatorjob_change", job.pk)


def _dead() -> Any:
    return Delivery.objects.filter(state=DeliveryState.DEAD)


def send_again(job: OperatorJob, rows: list[int], now: datetime) -> list[str]:
    """Within the transaction of the job's step: what is noted is what was done."""
    dead = list(_dead().filter(pk__in=rows))
    outbox.retry(Delivery.objects.filter(pk__in=[row.pk for row in dead]), now)
    if job.user is not None:
        LogEntry.objects.log_actions(job.user.pk, dead, CHANGE, change_message="Asked to send it again.")
    return [REFUSED] * (len(rows) - len(dead))


jobs.WORK[SEND_AGAIN] = jobs.Work("deliveries", "gateway_app_delivery", AT_ONCE, send_again)
