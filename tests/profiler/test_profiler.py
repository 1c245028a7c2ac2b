"""The profilers: which events they list, when, and how they are shown."""

from __future__ import annotations

import gzip
import json
import sys

import pytest

import wengert
from wengert.autograd import profiler
from wengert.profiler import (
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def work():
    x = wengert.ones(3, 4, requires_grad=True)
    with record_function("forward"):
        y = (x * 2).sum()
    y.backward()


def test_operations_and_nodes_are_listed():
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as seen:
        work()
    events = {event.name: event for event in seen.events()}
    assert {"forward", "aten::mul", "aten::sum", "MulBackward0", "SumBackward0"} <= set(events)
    multiplied = events["aten::mul"]
    assert multiplied.cpu_parent is events["forward"]
    assert multiplied.input_shapes == [[3, 4], []]
    assert multiplied.cpu_memory_usage == 48
    assert __file__ in multiplied.stack[0]
    assert events["forward"].is_user_annotation
    assert events["forward"].self_cpu_time_total < events["forward"].cpu_time_total


def test_sums_by_name():
    with profile() as seen:
        work()
        work()
    sums = {total.key: total for total in seen.key_averages()}
    assert sums["aten::mul"].count == 2
    assert sums["aten::mul"].cpu_time == sums["aten::mul"].cpu_time_total / 2
    total = seen.events().total_average()
    assert total.self_cpu_time_total == pytest.approx(seen.events().self_cpu_time_total)


def test_an_operation_that_promotes_counts_once():
    with profile() as seen:
        wengert.ones(2) * wengert.ones(2, dtype=wengert.float64)
    assert [e.name for e in seen.events()].count("aten::mul") == 1


def test_nothing_stays_behind():
    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError), profile() as seen:
        1 / 0  # noqa: B018
    assert sys.getprofile() is before
    assert list(seen.events()) == []
    with record_function("outside"):
        pass


def test_one_at_a_time():
    with profile(), pytest.raises(RuntimeError, match="already enabled"):
        profile().start()


@pytest.mark.torch
def test_table_has_pytorchs_columns(torch):
    def titles(lib):
        x = lib.ones(3)
        with lib.profiler.profile(record_shapes=True, profile_memory=True) as seen:
            x * 2
        table = seen.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total")
        return next(line.split("  ") for line in table.splitlines() if "Self CPU %" in line)

    ours, theirs = (
        [cell.strip() for cell in titles(lib) if cell.strip()] for lib in (wengert, torch)
    )
    assert ours == theirs


def test_table_is_sorted_and_cut():
    with profile() as seen, record_function("forward"):
        inner = wengert.ones(3, requires_grad=True) * 2
        with record_function("inside"):
            inner.sum()
    table = seen.key_averages().table(sort_by="cpu_time_total", row_limit=1, header="of work")
    lines = table.splitlines()
    assert lines[0] == "of work"
    assert lines[4].split()[0] == "forward"  # the others are in it
    assert lines[-1].startswith("Self CPU time total: ")
    with pytest.raises(AttributeError, match="zork"):
        seen.key_averages().table(sort_by="zork")


@pytest.mark.torch
@pytest.mark.parametrize(
    "options",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 2, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 3, "repeat": 1, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
    ],
)
def test_schedules_are_pytorchs(torch, options):
    ours, theirs = schedule(**options), torch.profiler.schedule(**options)
    assert [ours(i).name for i in range(15)] == [theirs(i).name for i in range(15)]


def test_schedule_checks_its_arguments():
    with pytest.raises(AssertionError, match="active=0"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.warns(UserWarning, match="warmup"):
        schedule(wait=1, warmup=0, active=1)


def test_steps_follow_the_schedule():
    ready = []

    def note(seen):
        steps = [e.name for e in seen.events() if e.name.startswith("ProfilerStep")]
        ready.append((seen.step_num, steps))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=note) as p:
        for _ in range(6):
            work()
            p.step()
    assert ready == [(4, ["ProfilerStep#2", "ProfilerStep#3"])]


def test_traces_are_written(tmp_path):
    handler = tensorboard_trace_handler(str(tmp_path), "me", use_gzip=True)
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
        work()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("me.")
    with gzip.open(path, "rt") as file:
        entries = json.load(file)["traceEvents"]
    assert {"forward", "aten::mul"} <= {entry["name"] for entry in entries}
    assert all(entry["ph"] == "X" and entry["dur"] >= 0 for entry in entries)


def test_stacks_are_written(tmp_path):
    with profile(with_stack=True) as seen:
        work()
    seen.export_stacks(str(tmp_path / "stacks"))
    for line in (tmp_path / "stacks").read_text().splitlines():
        place, microseconds = line.rsplit(" ", 1)
        assert int(microseconds) > 0
        assert " " not in place


def test_the_old_profiler():
    with profiler.profile(use_cuda=False) as seen:
        assert repr(seen) == "<unfinished torch.autograd.profile>"
        work()
    assert "aten::mul" in str(seen)
    assert seen.self_cpu_time_total > 0
    with profiler.profile(enabled=False) as nothing:
        work()
    with pytest.raises(AssertionError, match="no events"):
        nothing.key_averages()
    with pytest.raises(RuntimeError, match="CUDA"), profiler.emit_nvtx():
        pass
