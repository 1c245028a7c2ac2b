"""Tests of many processes: functions of this package that ranks run, and what they must give."""
