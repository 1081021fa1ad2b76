"""Random programs, random calls over all primitives: meaning kept, refusals change nothing, texts and traces make the same again."""

from __future__ import annotations

from hypothesis import settings
from support.schedule_machine import ScheduleMachine

TestSchedules = ScheduleMachine.TestCase
TestSchedules.settings = settings(stateful_step_count=12)
