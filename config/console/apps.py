from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    default_site = "config.console.site.ConsoleSite"
