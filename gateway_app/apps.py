from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway_app"
    verbose_name = "Traffic and access"

    def ready(self) -> None:
        from gateway_app import transfer  # it needs the tables

        transfer.register()
