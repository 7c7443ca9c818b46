"""What comes in and what goes out, as the OpenAPI document describes it."""

from datetime import date, datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, WithJsonSchema

from sessions_app.schemas import Asked, Given, ListQuery, Page
from skills_app.models import LABEL_LENGTH

QUERY_LENGTH = 65_536
MOST_LABELS = 100
MOST_IMPORTED = 1000
# Ten years: what is longer was not measured.
LONGEST_SECONDS = 315_360_000
# No use is older.
EARLIEST = date(1970, 1, 1)

Name = Annotated[StrictStr, Field(min_length=1, max_length=LABEL_LENGTH)]
Label = Annotated[StrictStr, Field(max_length=LABEL_LENGTH)]
Labels = Annotated[list[Name], Field(max_length=MOST_LABELS)]
Text = Annotated[StrictStr, Field(max_length=QUERY_LENGTH)]
Rank = Annotated[StrictInt, Field(ge=1, le=1_000_000)]
Seconds = Annotated[StrictFloat | StrictInt, Field(ge=0, le=LONGEST_SECONDS)]
Share = Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)]
State = Literal["running", "completed", "failed", "abandoned"]


class InvocationIn(Given):
    skill_name: Name
    session_id: StrictStr | None = None
    workflow_path: Label | None = None
    workflow_phase: Label | None = None
    user_query: Text | None = None
    alternatives_considered: Labels | None = None
    selection_rank: Rank | None = Field(
        None, description="Its place among what was recommended; 1 is the first."
    )
    invoked_at: StrictStr | None = Field(
        None, description="Now, if it is not given; naive: in the agent's zone."
    )


class CompletionIn(Given):
    completed: StrictBool
    follow_up_actions: Labels | None = None
    error_type: Label | None = None
    duration_seconds: Seconds | None = Field(None, description="Measured by the server if it is not given.")


class ImportedIn(InvocationIn):
    """A finished one. The same skill at the same time of the same session is the same invocation."""

    invoked_at: StrictStr
    completed: StrictBool | None = None
    state: Literal["completed", "failed", "abandoned"] | None = Field(
        None, description="Else `completed` says whether it is completed or failed."
    )
    duration_seconds: Seconds | None = None
    follow_up_actions: Labels | None = None
    error_type: Label | None = None
    source_session: Label | None = Field(
        None, description="What its session was called where it comes from; only to know it again."
    )


class ImportIn(Given):
    invocations: Annotated[list[ImportedIn], Field(min_length=1, max_length=MOST_IMPORTED)]


class ImportedOut(Schema):
    added: int
    known: int = Field(description="Those that were here already.")


class RecommendIn(Given):
    query: Annotated[StrictStr, Field(min_length=1, max_length=QUERY_LENGTH)]
    limit: Annotated[StrictInt, Field(ge=1, le=100)] = 5
    session_id: StrictStr | None = None
    min_similarity: Annotated[StrictFloat | StrictInt, Field(ge=-1, le=1)] = 0.0
    workflow_phase: Label | None = None
    phase_weight: Share = 0.3
    group: Literal["skill", "invocation"] = "skill"


class InvocationOut(Schema):
    id: str
    skill_name: str
    session_id: str | None
    state: State
    completed: bool
    invoked_at: datetime
    finished_at: datetime | None
    duration_seconds: float | None
    workflow_path: str | None
    workflow_phase: str | None
    user_query: str | None
    alternatives_considered: list[str]
    selection_rank: int | None
    follow_up_actions: list[str]
    error_type: str | None


class MetricsOut(Schema):
    skill_name: str
    total_invocations: int
    completed_invocations: int
    failed_invocations: int
    abandoned_invocations: int
    running_invocations: int
    completion_rate: float = Field(description="In percent of all finished.")
    total_duration_seconds: float = Field(description="Of the completed ones, as is the average.")
    avg_duration_seconds: float
    median_duration_seconds: float | None = Field(description="Within 2 %, or a millisecond.")
    p95_duration_seconds: float | None = Field(description="Within 2 %, or a millisecond.")
    workflow_paths: dict[str, int]
    common_errors: dict[str, int]
    follow_up_actions: dict[str, int]
    avg_selection_rank: float | None
    recommendation_success_rate: float | None = Field(
        description="In percent of those that were ranked first."
    )
    first_invoked: datetime | None
    last_invoked: datetime | None
    sessions: int = Field(description="In how many sessions it was ever finished.")


# Not by places, which many a reader of such documents does not know.
PAIRS = {
    "type": "array",
    "items": {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "minItems": 2,
        "maxItems": 2,
    },
}


class SummaryOut(Schema):
    total_skills: int
    total_invocations: int
    completed_invocations: int
    failed_invocations: int
    abandoned_invocations: int
    running_invocations: int
    overall_completion_rate: float
    most_used_skill: str | None
    most_used_count: int
    avg_duration_seconds: float
    skills_by_usage: Annotated[list[tuple[str, int]], WithJsonSchema(PAIRS)]


class SessionSkillsOut(Page[InvocationOut]):
    session_id: str
    total_skills_used: int
    total_invocations: int
    completed_invocations: int
    failed_invocations: int
    abandoned_invocations: int
    running_invocations: int
    total_duration_seconds: float
    skills_by_count: dict[str, int]


class LikeQuery(Schema):
    user_query: str
    similarity_score: float
    state: State


class Reasons(Schema):
    similar_queries: list[LikeQuery]
    finished: int
    completed: int
    finished_in_phase: int
    completed_in_phase: int
    success_rate_when_first: float | None
    text: str


class RecommendedOut(Schema):
    skill_name: str
    score: float
    similarity_score: float
    invocation_id: str
    user_query: str
    completed: bool
    state: State
    duration_seconds: float | None
    session_id: str | None
    invoked_at: datetime
    workflow_phase: str | None
    matched_by: Literal["meaning", "letters"]
    reasons: Reasons


class RecommendationsOut(Schema):
    items: list[RecommendedOut]
    method: Literal["meaning", "letters"]
    note: str


class EffectivenessOut(Schema):
    workflow_phase: str
    skill_name: str
    completion_rate: float
    avg_duration_seconds: float
    total_invocations: int
    ci_low: float
    ci_high: float


class BottleneckOut(Schema):
    workflow_phase: str
    abandonment_rate: float
    level: Literal["CRITICAL", "WARNING", "MONITOR"]
    total_invocations: int
    failed_invocations: int
    abandoned_invocations: int


class TransitionOut(Schema):
    from_phase: str
    to_phase: str
    count: int
    most_common_skill: str = Field(description="Of those that the step led to.")
    avg_seconds: float


class BestOut(Schema):
    workflow_phase: str
    skill_name: str
    completion_rate: float


class HeatmapOut(Schema):
    phases: list[str]
    skills: list[str]
    cells: list[list[float | None]] = Field(description="In percent; null where it was not used.")


class WorkflowOut(Schema):
    effectiveness: list[EffectivenessOut]
    bottlenecks: list[BottleneckOut]
    transitions: list[TransitionOut]
    transitions_looked_at: int
    recommendations: list[BestOut]
    heatmap: HeatmapOut


class ExportOut(Schema):
    summary: SummaryOut
    skills: dict[str, MetricsOut]
    invocations: list[InvocationOut]
    exported_at: datetime


Day = Annotated[date, Field(ge=EARLIEST)]


class PeriodQuery(Asked):
    session: str | None = None
    since: Day | None = Field(None, description="A day in UTC, included.")
    until: Day | None = Field(None, description="A day in UTC, included.")


class MetricsQuery(PeriodQuery, ListQuery):
    skill_name: Annotated[str, Field(min_length=1, max_length=LABEL_LENGTH)] | None = Field(
        None, description="One skill: for names that an address cannot hold, such as `..`."
    )


class ReportQuery(PeriodQuery):
    kind: Literal["metrics", "workflow", "heatmap", "trends"] = "metrics"


class TrendsQuery(Asked):
    days: Annotated[int, Field(ge=1, le=366)] = 30
    until: Day | None = Field(None, description="The last day, in UTC; today if it is not given.")
    skill_name: Annotated[str, Field(max_length=LABEL_LENGTH)] | None = None


class InvocationsQuery(ListQuery):
    skill_name: Annotated[str, Field(max_length=LABEL_LENGTH)] | None = None
    session: str | None = None
    state: State | None = None
    workflow_phase: Annotated[str, Field(max_length=LABEL_LENGTH)] | None = None
    since: Day | None = Field(None, description="A day in UTC, included.")
    until: Day | None = Field(None, description="A day in UTC, included.")
