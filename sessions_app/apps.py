from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Record"

    def ready(self) -> None:
        # They register themselves when their module is imported.
        from sessions_app import holdings  # noqa: F401
        from sessions_app.transcripts import archive_rows

        archive_rows.register()
