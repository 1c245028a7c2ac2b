"""Where a segment keeps its intermediate values."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from wengert.replay import blocks as blocks_of_memory
from wengert.replay.blocks import phases_of, planned, size_of, spans_of
from wengert.replay.emitting import F32, Call, Emitter, View, dense
from wengert.replay.ir import Program


def lifetimes(seed: int) -> tuple[list[Call], Emitter]:
    """Calls that each write one value, and read some of the last ones."""
    rng = random.Random(seed)
    emitter, calls = Emitter(Program(), {}, 1), list[Call]()
    views: list[View] = []
    for value in range(60):
        size = rng.choice([10, 100, 20_000, 40_000, 50_000, 100_000])
        view = emitter.views[value] = dense(value, (size,), F32)
        read = rng.sample(views[-8:], min(len(views), 2))
        calls.append(Call(None, (*read, view), size, size))
        views.append(view)
    return calls, emitter


@pytest.mark.parametrize("seed", range(8))
def test_no_two_values_are_in_one_place_at_once(seed: int) -> None:
    calls, emitter = lifetimes(seed)
    places, blocks = planned(calls, emitter, set())
    spans = {}
    for root in places:
        used = [k for k, call in enumerate(calls) if any(v.root == root for v in call.arguments)]
        spans[root] = used[0], used[-1]
    size = {root: 4 * emitter.views[root].size for root in places}
    for root, (block, place) in places.items():
        assert place + size[root] <= blocks[block].size
    for a, b in combinations(places, 2):
        together = spans[a][0] <= spans[b][1] and spans[b][0] <= spans[a][1]
        (block_a, at_a), (block_b, at_b) = places[a], places[b]
        if together and block_a == block_b:
            assert at_a + size[a] <= at_b or at_b + size[b] <= at_a
    most = max(
        sum(size[r] for r, (first, last) in spans.items() if first <= k <= last)
        for k in range(len(calls))
    )
    assert sum(block.size for block in blocks) <= 1.4 * most


@pytest.mark.parametrize("seed", range(4))
def test_a_small_value_is_in_the_first_gap(seed: int) -> None:
    rng = random.Random(seed)
    emitter, calls, views = Emitter(Program(), {}, 1), list[Call](), list[View]()
    for value in range(80):
        view = emitter.views[value] = dense(value, (16 * rng.randint(1, 30),), F32)
        read = rng.sample(views[-6:], min(len(views), 2))
        calls.append(Call(None, (*read, view), 1, 1))
        views.append(view)
    places, _ = planned(calls, emitter, set())
    size = {root: 4 * emitter.views[root].size for root in places}
    last = {v.root: k for k, call in enumerate(calls) for v in call.arguments}
    for value in range(80):  # the call that writes it has its number
        alive = [r for r in range(value) if last[r] >= value]
        taken = sorted([(places[r][1], places[r][1] + size[r]) for r in alive])
        place = 0
        for start, stop in taken:
            if place + size[value] <= start:
                break
            place = max(place, stop)
        assert places[value] == (0, place)


def test_what_comes_from_outside_has_no_place() -> None:
    calls, emitter = lifetimes(0)
    places, _ = planned(calls, emitter, {0, 5})
    assert places.keys() == set(range(60)) - {0, 5}


@pytest.mark.parametrize("seed", range(6))
def test_memory_is_there_when_a_call_needs_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_of_memory, "_MUCH", 0)
    calls, emitter = lifetimes(seed)
    results = random.Random(seed).sample(range(60), 12)
    places, blocks = planned(calls, emitter, {*results})
    sizes = [size_of(r, emitter) for r in results] + [block.size for block in blocks]
    spans = [*spans_of(calls, results), *[block.span for block in blocks]]
    array_of = {r: k for k, r in enumerate(results)}
    array_of |= {r: len(results) + block for r, (block, _) in places.items()}
    table = [(k, 7, 8, 9) for k in range(len(calls))]
    filled = [(2 + k, word, 3) for word, k in enumerate((*array_of.values(), -1, -2))]
    phases, most = phases_of(sizes, spans, 2, table, filled)
    assert len(phases) > 4
    alive, filled_words, done = set[int](), set[int](), 0
    for control, slots, dropped in phases:
        alive = alive.difference(dropped).union(slots)
        assert sum(sizes[k] for k in alive) <= most
        count, places_to_fill = control[:2]
        fills = control[2 : 2 + 3 * places_to_fill].reshape(-1, 3)
        passed = [*([-2, -1] if not done else []), *slots]
        for array, word, bytes in fills.tolist():
            assert passed[array] == filled[word][0] - 2
            assert bytes == 3
            filled_words.add(word)
        assert control[2 + 3 * places_to_fill :].tolist() == [
            x for row in table[done : done + count] for x in row
        ]
        for call in calls[done : done + count]:
            assert alive.issuperset(array_of[view.root] for view in call.arguments)
        done += count
    assert done == len(calls)
    assert len(filled_words) == len(filled)
    assert alive.issuperset(range(len(results)))
    assert most < sum(sizes)


def test_a_segment_of_little_memory_has_one_phase() -> None:
    phases, most = phases_of([100, 64], [(3, 5), (0, 4)], 1, [(0, 0, 1, 1)] * 5, [(0, 0, 0)])
    assert [(slots, dropped) for _, slots, dropped in phases] == [([0, 1], [])]
    assert most == 164
