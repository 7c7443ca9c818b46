from django.apps import AppConfig


class SkillsConfig(AppConfig):
    name = "skills_app"
    verbose_name = "Skills"

    def ready(self) -> None:
        # They need the tables. Signals are connected when their module is imported.
        from sessions_app import reflections
        from sessions_app.transcripts import archive, wiring
        from skills_app import archived, erasing, failures, imported  # noqa: F401 - erasing registers itself

        wiring.register_invocation_sink(imported.take)
        archive.register("skill_invocation", archived.PART)
        reflections.skill_failures.append(failures.failing)
