"""Layers and coordinates: lines point down, nothing overlaps, boxes hold their members."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from tests.graph import drawn
from wengert.graph import Drawing
from wengert.graph.drawing._layout import MARGIN, GraphLayout, lay_out
from wengert.graph.drawing._levels import incoming_columns, interior, with_fewer_crossings
from wengert.graph.drawing._repeats import RepeatedRun, runs


@pytest.fixture(scope="module", params=drawn.ALL)
def drawing(request: pytest.FixtureRequest) -> Drawing:
    """Each of the graphs."""
    return drawn.ALL[request.param]()


def views(drawing: Drawing) -> list[set[int]]:
    """Which boxes are open: as at first, none, all, and some by chance."""
    dice = random.Random(0)
    parts = [box.index for box in drawing.boxes if box.members]
    first = {box.index for box in drawing.boxes if box.opened}
    some = [{0, *dice.sample(parts, len(parts) // 2)} for _ in range(2)]
    return [first, {0}, set(parts), *some]


@pytest.fixture(scope="module", params=range(5), ids=["first", "closed", "open", "some", "others"])
def placed(request: pytest.FixtureRequest, drawing: Drawing) -> GraphLayout:
    """A view of each graph."""
    return lay_out(drawing.boxes, views(drawing)[request.param])


def test_lines_point_down(placed: GraphLayout) -> None:
    assert placed.lines or len(placed.boxes) == 2
    for line in placed.lines:
        heights = [y for _, y in line.points]
        assert heights == sorted(heights)
        assert heights[0] < heights[-1]


def test_lines_begin_and_end_at_their_boxes(placed: GraphLayout) -> None:
    for line in placed.lines:
        if line.source is not None:
            x, y, width, height = placed.boxes[line.source]
            assert line.points[0] == (x + width / 2, y + height)
        if line.target is not None:
            x, y, width, _ = placed.boxes[line.target]
            assert line.points[-1] == (x + width / 2, y)


def test_lines_go_on_inside_of_open_boxes(placed: GraphLayout) -> None:
    """Where a line ends at a border, others begin."""
    begins = {line.points[0] for line in placed.lines if line.source is None}
    ends = {line.points[-1] for line in placed.lines if line.target is None}
    assert begins == ends


def test_nothing_overlaps(drawing: Drawing, placed: GraphLayout) -> None:
    for box in drawing.boxes:
        shown = [k for k in box.members if k in placed.boxes]
        assert shown in ([], list(box.members))
        for one, other in itertools.combinations(shown, 2):
            x, y, width, height = placed.boxes[one]
            left, top, wide, high = placed.boxes[other]
            apart = x + width < left or left + wide < x or y + height < top or top + high < y
            assert apart, (one, other)


def test_boxes_hold_their_members(drawing: Drawing, placed: GraphLayout) -> None:
    for index, (x, y, width, height) in placed.boxes.items():
        parent = drawing.boxes[index].parent
        if parent is not None:
            left, top, wide, high = placed.boxes[parent]
            assert left <= x
            assert x + width <= left + wide
            assert top <= y
            assert y + height <= top + high
        assert x >= MARGIN
        assert x + width <= placed.width - MARGIN
        assert y + height <= placed.height - MARGIN


def test_lines_run_beside_boxes(drawing: Drawing, placed: GraphLayout) -> None:
    """Where a line goes straight down, no closed box is in its way."""
    closed = [placed.boxes[k] for k in placed.boxes if not drawing.boxes[k].members]
    closed.sort()
    for line in placed.lines[:500]:
        for (x, top), (other, bottom) in itertools.pairwise(line.points):
            if x == other:
                through = [
                    box for box in closed
                    if box[0] < x < box[0] + box[2] and top < box[1] + box[3] and box[1] < bottom
                ]  # fmt: skip
                assert through == []


def test_lines_of_a_chain_are_straight() -> None:
    drawing = drawn.mlp()
    placed = drawing._layout()
    assert {x for line in placed.lines for x, _ in line.points} == {placed.width / 2}


def test_a_diamond_has_no_crossing() -> None:
    # 0 and 1 on top; 2 uses 1, 3 uses 0; 4 uses both.
    inside = interior(
        [0, 1, 2, 3, 4], {(0, 3): [0], (1, 2): [1], (2, 4): [2], (3, 4): [3]}, {}, {}, {}
    )
    first, second, third = inside.layers
    assert [{0: 3, 1: 2}[v] for v in first] == list(second)
    assert third == (4,)


def test_the_inside_of_a_box_turns_to_where_its_inputs_come_from() -> None:
    outer = interior([1, 2, 9], {(1, 9): [1], (2, 9): [2]}, {}, {}, {})
    assert [list(row) for row in outer.layers] in ([[0, 1], [2]], [[1, 0], [2]])
    inside = interior([5, 6], {}, {1: {5}, 2: {6}}, {}, {})
    mirror = replace(inside, layers=tuple(row[::-1] for row in inside.layers))
    left = [outer.layers[0].index(v) for v in (0, 1)]
    for given in (inside, mirror):
        found = with_fewer_crossings(given, incoming_columns(outer)[2])
        assert [found.layers[0].index(port) for port in (2, 3)] == left
        assert with_fewer_crossings(found, incoming_columns(outer)[2]) == found


def test_sources_stand_right_above_their_users() -> None:
    inside = interior([0, 1, 2, 3], {(0, 1): [0], (1, 3): [1], (2, 3): [2]}, {}, {}, {})
    assert [set(layer) for layer in inside.layers] == [{0}, {1, 2}, {3}]


def test_ports_are_in_the_borders_and_bends_in_every_layer_between() -> None:
    inside = interior([5, 6], {(5, 6): [5]}, {1: {5, 6}, 2: {5}}, {6: 6}, {})
    assert inside.entries == ((1,), (2,))
    assert inside.exits == ((6,),)
    assert [set(layer) for layer in inside.layers] == [{2, 3}, {0, 5}, {1}, {4}]
    assert {way.path for way in inside.ways} == {(2, 0), (2, 5, 1), (3, 0), (0, 1), (1, 4)}


def test_many_ports_are_one() -> None:
    inside = interior([50], {}, {k: {50} for k in range(9)}, {}, {})
    assert inside.entries == (tuple(range(9)),)
    assert [way.tensors for way in inside.ways] == [tuple(range(9))]


def run_of(text: str) -> list[tuple[str, int]]:
    """The bodies of the runs in a sequence of letters, and how often they are there."""
    signs = [ord(letter) for letter in text]
    found = runs(signs, [1] * len(text), signs)
    return [(text[run.start : run.start + run.period], run.count) for run in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("ababab", []),  # six operations: not worth a box
        ("aaaaaaaa", [("a", 8)]),
        ("abcabcabc", [("abc", 3)]),
        ("xabcabcabcy", [("abc", 3)]),
        ("bcabcabcabcabc", [("abc", 4)]),  # from the first line of the loop
        ("aaabaaabaaab", [("aaab", 3)]),
        ("aaaaaaaabbbbbbbbb", [("a", 8), ("b", 9)]),
        ("abcdefgh", []),
    ],
)
def test_repetitions(text: str, expected: list[tuple[str, int]]) -> None:
    assert run_of(text) == expected


def test_a_run_counts_the_operations_inside_of_its_items() -> None:
    assert runs([7, 7, 7], [4, 4, 4], [1, 1, 1]) == [RepeatedRun(0, 1, 3)]
    assert runs([7, 7, 7], [2, 2, 2], [1, 1, 1]) == []
    assert runs([7, 7], [9, 9], [1, 1]) == []
