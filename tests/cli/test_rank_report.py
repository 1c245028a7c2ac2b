"""`wengert run --nproc N --report`: who computed, who waited for whom, and what was hidden."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.browser import SIZES, sticking_out
from tests.cli.process import ENVIRONMENT, script, wengert
from wengert.cli._data import Ending
from wengert.cli._rank_times import RankTimes, RunTimes, covered, intersection, union, without

TRAIN = """
    import os, sys, time
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(12):
        if rank == 1:
            time.sleep(0.02)
        loss = model(torch.randn(32, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = torch.ones(256)
    dist.all_reduce(total)
    if rank == 0:
        dist.send(total, 1)
    else:
        dist.recv(total, 0)
    if "--fail" in sys.argv and rank == 1:
        os.kill(os.getpid(), 9)
    dist.barrier()
"""


def spans(*pairs: tuple[float, float]) -> np.ndarray:
    return np.array(pairs, float).reshape(-1, 2)


def test_spans_of_time() -> None:
    a = union(spans((3, 5), (0, 1), (4, 7), (1, 2), (9, 9)))
    assert a.tolist() == [[0, 2], [3, 7], [9, 9]]
    b = spans((1, 4), (6, 8))
    assert intersection(a, b).tolist() == [[1, 2], [3, 4], [6, 7]]
    assert without(a, b).tolist() == [[0, 1], [4, 6]]
    assert without(a, spans()).tolist() == [[0, 2], [3, 7]]
    assert covered(spans((0, 10), (1.5, 3.5), (20, 30)), b).tolist() == [5, 2, 0]
    assert covered(b, spans()).tolist() == [0, 0]


def rank_of(rank: int, blocked: np.ndarray, rows: list[tuple[float, ...]]) -> RankTimes:
    """A rank whose backward lasts from 1 to 9, of a script from 0 to 10."""
    phases = {"forward": spans((0, 1)), "backward": spans((1, 9)), "optimizer": spans((9, 10))}
    calls = [("all_reduce", "a.py:1", "g"), ("send", "a.py:2", "")]
    return RankTimes(rank, 0.0, 10.0, Ending("finished", 0), True, phases, blocked,
                     np.array(rows, float), calls)  # fmt: skip


def test_what_is_waiting_and_what_is_hidden() -> None:
    """Rank 1 enters the first collective 2 s late; of the second, half is behind the backward."""
    ranks = [
        rank_of(0, spans((7, 9)), [(0, 0, 1, 4, 100), (0, 1, 5, 9, 100)]),
        rank_of(1, spans((7, 9)), [(0, 0, 3, 4, 100), (0, 1, 5, 9, 100), (1, -1, 9, 9.5, 7)]),
    ]
    times = RunTimes(ranks)
    assert times.slowest() == 1
    assert times.held_up == {0: 0.0, 1: 2.0}
    assert ranks[0].waits.tolist() == [[1, 3], [5, 5]]
    assert ranks[0].transfers.tolist() == [[3, 4], [5, 9]]
    assert ranks[0].figures() == {
        "forward": 1, "backward": 6, "optimizer": 1, "communication": 2, "waiting": 0, "other": 0,
    }  # fmt: skip
    assert ranks[0].hidden == 3
    assert times.hidden() == (3 + 3) / (5 + 5.5)
    rows = {row.name: row for row in times.rows()}
    assert vars(rows["all_reduce"]) == {
        "name": "all_reduce", "where": "a.py:1", "calls": 4, "sent": 400, "seconds": 5.0,
        "waited": 1.0, "hidden": 3.0,
    }  # fmt: skip
    assert (rows["send"].calls, rows["send"].sent, rows["send"].seconds) == (1, 7, 0.25)


def test_one_of_two_ranks_waits_for_the_other() -> None:
    """A blocked script waits while its rank is alone in a collective, and communicates then."""
    ranks = [rank_of(0, spans((2, 6)), [(0, 0, 2, 6, 0)]), rank_of(1, spans(), [(0, 0, 5, 6, 0)])]
    times = RunTimes(ranks)
    assert ranks[0].waiting.tolist() == [[2, 5]]
    assert ranks[0].communication.tolist() == [[5, 6]]
    assert times.held_up[1] == 3


def test_a_rank_that_never_came_is_waited_for() -> None:
    """Rank 1 is killed: in the second collective rank 0 waits for it until that fails."""
    ranks = [
        rank_of(0, spans((1, 2), (3, 8)), [(0, 0, 1, 2, 0), (0, 1, 3, 8, 0)]),
        rank_of(1, spans((1, 2)), [(0, 0, 1, 2, 0)]),
    ]
    times = RunTimes(ranks)
    assert ranks[0].waiting.tolist() == [[3, 8]]
    assert ranks[0].communication.tolist() == [[1, 2]]
    assert times.held_up == {0: 0.0, 1: 5.0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two ranks, of which the second is slower."""
    folder = tmp_path_factory.mktemp("ranks")
    script(folder, TRAIN, "train.py")
    options = ["--nproc", "2", "--report", "out.html", "--report-json", "out.json"]
    result = wengert("run", *options, "train.py", "--width", "<b>", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "the report is" in result.stderr
    return folder


def test_the_data_of_ranks(trained: Path) -> None:
    data = json.loads((trained / "out.json").read_text())
    assert (data["size"], data["status"], data["failures"]) == (2, 0, [])
    assert data["arguments"] == ["--width", "<b>"]
    slept = 12 * 0.02
    quick, slow = data["ranks"]
    assert quick["waiting"] > 0
    assert slow["other"] > slept
    assert data["slowest"] == max(data["ranks"], key=lambda rank: rank["held_up"])["rank"]
    for rank in data["ranks"]:
        assert rank["ending"] == "finished"
        assert min(rank["forward"], rank["backward"], rank["optimizer"]) > 0
        kinds = "forward backward optimizer communication waiting other"
        assert sum(rank[kind] for kind in kinds.split()) == pytest.approx(rank["seconds"])
    rows = {(row["name"], row["where"].rpartition(":")[2]): row for row in data["collectives"]}
    line = {text.strip(): str(k) for k, text in enumerate(TRAIN.splitlines(), 1)}
    total = rows["all_reduce", line["dist.all_reduce(total)"]]
    assert (total["calls"], total["sent"]) == (2, 2 * 256 * 4)
    message = rows["send", line["dist.send(total, 1)"]]
    assert (message["calls"], message["sent"]) == (1, 256 * 4)
    gradients = rows["all_reduce", line["loss.backward()"]]
    assert gradients["sent"] > 2 * 12 * 4 * (64 * 65 + 65)  # and which parameters are reached


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_ranks(trained: Path, open_page, scheme: str) -> None:
    page = open_page(trained / "out.html", color_scheme=scheme)
    assert page.locator("h1").inner_text() == "train.py"
    assert "--width '<b>'" in page.locator(".command").inner_text()
    assert "The other ranks waited for rank" in page.locator(".verdict").inner_text()
    lanes = page.get_by_role("tabpanel")
    for title in ("the first steps", "the whole run", "the last steps"):
        page.get_by_role("tab", name=title).click()
        names = lanes.locator("visible=true").locator("svg > text").all_text_contents()
        assert names == ["rank 0", "rank 1"]
    last = lanes.locator("visible=true").locator("path")
    assert {"lane-forward", "lane-backward", "lane-optimizer", "lane-waiting", "lane-other"} <= {
        path.get_attribute("class") for path in last.all()
    }
    cells = page.locator("#exchanges tbody tr td:first-child").all_inner_texts()
    assert {"all_reduce", "broadcast", "send", "barrier"} <= set(cells)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert sticking_out(page) == []


@pytest.mark.slow
def test_the_page_of_a_run_in_which_a_rank_is_killed(tmp_path: Path, open_page) -> None:
    script(tmp_path, TRAIN, "train.py")
    options = ["--nproc", "2", "--report", "out.html", "train.py", "--fail"]
    result = wengert("run", *options, cwd=tmp_path)
    assert result.returncode == 128 + signal.SIGKILL
    page = open_page(tmp_path / "out.html")
    assert "ended with signal SIGKILL" in page.locator(".ending").inner_text()
    endings = page.locator("#ranks tbody td:last-child").all_inner_texts()
    assert endings[0].startswith("failed: ")
    assert "rank 1 is gone" in endings[0]
    assert endings[1] == "killed"


@pytest.mark.slow
def test_the_page_of_a_run_that_is_interrupted(tmp_path: Path) -> None:
    script(tmp_path, 'import time\nprint("started", flush=True)\ntime.sleep(60)\n', "train.py")
    options = ["--nproc", "2", "--report", "out.html", "train.py"]
    process = subprocess.Popen(
        [sys.executable, "-m", "wengert", "run", *options], cwd=tmp_path, env=ENVIRONMENT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(2):
        assert "started" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    text = (tmp_path / "out.html").read_text()
    assert "interrupted" in text
    assert "The ranks exchanged nothing." in text


def test_a_report_that_cannot_be_written_is_known_before_the_start(tmp_path: Path) -> None:
    script(tmp_path, "print('ran')\n", "train.py")
    result = wengert("run", "--nproc", "1", "--report", ".", "train.py", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "[rank 0] ran\n")
    assert result.stderr.startswith("wengert run: cannot write the report: '.' is a folder")
