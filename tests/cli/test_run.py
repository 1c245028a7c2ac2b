"""`wengert run`: what a script sees and leaves behind is what it would under `python`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.cli.process import ENVIRONMENT, good, python, script, wengert

STARTED = """
    import json, os, sys, pickle, __main__
    class Local: pass
    import neighbour
    print(json.dumps({
        "argv": sys.argv, "name": __name__, "file": __file__, "path": sys.path[0],
        "spec": __spec__ and __spec__.name, "package": __package__, "stdin": sys.stdin.read(),
        "main": __main__.__dict__ is globals(),
        "local": type(pickle.loads(pickle.dumps(Local()))) is Local,
        "loader": __loader__.name, "torch": "torch" in sys.modules,
    }))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "neighbour.py").write_text("")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    script(tmp_path, STARTED, "started.py")
    script(tmp_path, STARTED, "package/__main__.py")
    script(tmp_path, STARTED, "package/started.py")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["started.py"],
        ["started.py", "--quiet", "-m", "x y", "--", "--version"],
        ["./package/../started.py", "-h"],
        ["-m", "started", "--report-json", "x"],
        ["-m", "package.started", "-m"],
        ["-m", "package"],
    ],
    ids=" ".join,
)
def test_the_start_is_that_of_python(folder, arguments):
    ours = good(wengert("run", "--quiet", *arguments, cwd=folder, input="some text"))
    theirs = good(python(*arguments, cwd=folder, input="some text"))
    assert json.loads(ours) == json.loads(theirs)


def test_folder_with_main(folder):
    (folder / "package" / "neighbour.py").write_text("")
    ours = json.loads(good(wengert("run", "--quiet", "package", "a", cwd=folder, input="")))
    assert ours["argv"] == ["package", "a"]
    assert ours["name"] == "__main__"
    assert ours["path"] == "package"


def test_script_behind_a_link(folder):
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "link.py").symlink_to(folder / "started.py")
    ours = good(wengert("run", "--quiet", "elsewhere/link.py", cwd=folder, input=""))
    theirs = good(python("elsewhere/link.py", cwd=folder, input=""))
    assert json.loads(ours) == json.loads(theirs)


ENDINGS = {
    "falls through": "print('done')",
    "number": "import sys; sys.exit(3)",
    "none": "import sys; sys.exit()",
    "text": "import sys; sys.exit('some text')",
    "tuple": "raise SystemExit(1, 2)",
    "exception": "def f():\n    1 / 0\n\nf()",
    "cause": "try:\n    {}[1]\nexcept KeyError as e:\n    raise ValueError('x') from e",
    "syntax": "x = (1,\n",
    "encoding": "# coding: latin-1\nprint('\u00e4')",
    "import": "import zork_zork",
    "interrupt": "raise KeyboardInterrupt",
    "own hook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0])\n1 / 0",
    "at exit": "import atexit\natexit.register(print, 'bye')\n1 / 0",
    "thread": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()\nprint('soon')",
    "exit in child": "import os, sys\nsys.stdout.flush()\nif os.fork():\n    os.wait()\n"
    "else:\n    sys.exit(5)\nprint('parent')",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end_is_that_of_python(tmp_path, ending):
    file = tmp_path / "script.py"
    file.write_bytes(ENDINGS[ending].encode("latin-1"))
    ours, theirs = wengert("run", "--quiet", str(file)), python(str(file))
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    assert ours.stderr == theirs.stderr


def test_missing_script_is_reported_as_by_python(tmp_path):
    ours, theirs = wengert("run", "zork.py", cwd=tmp_path), python("zork.py", cwd=tmp_path)
    assert ours.returncode == theirs.returncode == 2
    assert theirs.stderr in ours.stderr


def test_missing_module_is_reported_as_by_python():
    ours, theirs = wengert("run", "--quiet", "-m", "zork"), python("-m", "zork")
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)
    assert ours.returncode == 1


def test_import_error_inside_a_module_has_its_traceback(folder):
    (folder / "broken.py").write_text("import zork")
    result = wengert("run", "--quiet", "-m", "broken", cwd=folder)
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback")
    assert f'File "{folder}/broken.py", line 1' in result.stderr
    assert "runpy" not in result.stderr


def test_no_script_is_a_usage_error():
    result = wengert("run")
    assert result.returncode == 2
    assert "usage: wengert run" in result.stderr
    assert "a script is required" in result.stderr


def test_interrupt_from_the_keyboard(tmp_path):
    file = script(tmp_path, "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "wengert", "run", str(file)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        errors = process.communicate()[1]
    assert process.returncode == -signal.SIGINT  # a shell shows 130
    assert errors.count("KeyboardInterrupt") == 1
    assert "no backward call" in errors


def test_output_to_nobody(tmp_path):
    """`wengert run SCRIPT | head -1` ends as `python SCRIPT | head -1` does."""
    file = script(tmp_path, "for i in range(100_000):\n    print(i)\n")
    codes = {}
    for name, command in {"ours": "-m wengert run --quiet", "theirs": ""}.items():
        line = f"set -o pipefail; {sys.executable} {command} {file} 2>/dev/null | head -1"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=ENVIRONMENT)
        assert done.stdout == "0\n"
        codes[name] = done.returncode
    assert codes["ours"] == codes["theirs"] != 0


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_the_script_have_the_alias(tmp_path, method):
    file = script(
        tmp_path,
        """
        import multiprocessing as mp, sys
        import torch

        def square(x):
            return (torch.tensor(x) * torch.tensor(x)).item(), torch.__version__

        if __name__ == "__main__":
            with mp.get_context(sys.argv[1]).Pool(2) as pool:
                print(pool.map(square, [2.0, 3.0]))
        """,
    )
    result = wengert("run", str(file), method)
    assert good(result) == "[(4.0, '2.13.0+wengert'), (9.0, '2.13.0+wengert')]\n"
    assert result.stderr.count("wengert: script.py") == 1


def test_line_of_a_missing_name_comes_last(tmp_path):
    file = script(tmp_path, "import torch\ntorch.zork(1)\n")
    result = wengert("run", "--quiet", str(file))
    assert result.returncode == 1
    assert f'File "{file}", line 2, in <module>' in result.stderr
    assert "AttributeError: torch.zork: no such name in PyTorch 2.13 either" in result.stderr


def test_console_command_exists():
    from importlib.metadata import entry_points

    (command,) = entry_points(group="console_scripts", name="wengert")
    assert command.value == "wengert.cli:main"


def test_version_names_what_matters():
    out = good(wengert("--version"))
    assert out.startswith("wengert 0.")
    assert "torch 2.13.0+wengert, numpy " in out


def test_help_without_a_command():
    out = good(wengert())
    assert "run" in out
    assert "show" in out


def test_unwritable_report_does_no_harm(tmp_path):
    file = script(tmp_path, "print('fine')\n")
    (tmp_path / "no").touch()
    result = wengert("run", "--quiet", "--report-json", str(tmp_path / "no" / "x.json"), str(file))
    assert good(result) == "fine\n"
    assert "cannot write the report" in result.stderr


def test_environment_is_untouched(tmp_path):
    file = script(tmp_path, "import os, sys\nprint(dict(os.environ) == eval(sys.argv[1]))\n")
    result = wengert("run", "--quiet", str(file), repr(dict(ENVIRONMENT)))
    assert good(result) == "True\n"
