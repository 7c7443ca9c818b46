from skills_app.admin.invocations import SkillInvocationAdmin, SkillRollupAdmin

__all__ = ["SkillInvocationAdmin", "SkillRollupAdmin"]
