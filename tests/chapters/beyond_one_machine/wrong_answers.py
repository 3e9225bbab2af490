"""Wrong answers to chapter 14's exercises, each as a student might write it."""

from tests.chapters.beyond_one_machine import wrong_plans

WRONG = {
    **wrong_plans.WRONG,
}
