"""Skills over time, as the OpenAPI document describes it."""

from datetime import date, datetime
from typing import Literal

from ninja import Schema
from pydantic import Field


class DayOut(Schema):
    day: date
    finished: int
    completed: int
    completion_rate: float | None = Field(description="In percent; null on a day without a finished use.")


class AnomalyOut(Schema):
    day: date
    kind: Literal["rate", "volume"]
    value: float = Field(description="That day's rate in percent, or its number of finished uses.")
    usual: float = Field(description="The same of the days before it.")
    z: float = Field(description="How many standard errors lie between.")


class TrendOut(Schema):
    skill_name: str
    days: list[DayOut] = Field(description="Each day of the period, those without a use too.")
    rate_trend: Literal["improving", "declining", "steady", "too_little_data"]
    rate_p_value: float | None
    volume_trend: Literal["rising", "falling", "steady", "too_little_data"]
    volume_p_value: float | None
    anomalies: list[AnomalyOut]


class NeverUsedOut(Schema):
    skill_name: str
    considered: int = Field(description="How often it was among the alternatives.")


class UnusedOut(Schema):
    skill_name: str
    last_invoked: datetime


class FailingOut(Schema):
    skill_name: str
    finished: int
    completion_rate: float
    completion_rate_before: float | None = Field(description="Null where it was not used before.")


class AdoptedOut(Schema):
    skill_name: str
    sessions: int
    share: float = Field(description="In percent of the sessions that used any skill.")


class AdoptionOut(Schema):
    sessions: int = Field(description="Sessions that ever used a skill to its end.")
    skills: list[AdoptedOut]


class TestsOut(Schema):
    """What the verdicts mean, in words."""

    rate: str
    volume: str
    anomalies: str
    failing: str


class TrendsOut(Schema):
    since: date
    until: date
    items: list[TrendOut]
    never_used: list[NeverUsedOut]
    unused_lately: list[UnusedOut]
    failing_lately: list[FailingOut]
    adoption: AdoptionOut
    tests: TestsOut
