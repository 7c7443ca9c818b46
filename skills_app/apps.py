from django.apps import AppConfig


class SkillsConfig(AppConfig):
    name = "skills_app"
    verbose_name = "Skills"

    def ready(self) -> None:
        # Signals are connected when their module is imported.
        from skills_app import erasing  # noqa: F401
