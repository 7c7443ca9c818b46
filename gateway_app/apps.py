from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway_app"
    verbose_name = "Gateway"
