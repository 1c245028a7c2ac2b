"""``wengert run --nproc N``: a script in several processes."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

from wengert.cli._run import LANES_VARIABLE, output_path, write_report
from wengert.distributed.run import Launch, command_for, get_args_parser


def run_ranks(options: Any) -> int:
    """Start the ranks of a script; return the exit code of the first that failed, or 0."""
    if not (options.report or options.report_json):
        return _launch(options, {}).run()
    page, data = output_path(options.report), output_path(options.report_json)
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    with tempfile.TemporaryDirectory(prefix="wengert-lanes-") as folder:
        launch = _launch(options, {LANES_VARIABLE: folder})
        status = 130  # unless it is not interrupted
        try:
            status = launch.run()
        finally:
            _deliver_lanes(options, launch, folder, (began, status), page, data)
    return status


def _launch(options: Any, environment: dict[str, str]) -> Launch:
    arguments = [f"--nproc-per-node={options.nproc}", f"--max-restarts={options.max_restarts}"]
    if options.log_dir:
        arguments += [f"--log-dir={options.log_dir}", "--tee=3"]
    launch_options = get_args_parser().parse_args([*arguments, "--standalone", options.target[0]])
    command = command_for(options.target[0], options.target[1:], options.module)
    at = command.index("--quiet")
    command.insert(at, f"--as={options.package}")
    if options.full_traceback:
        command.insert(at, "--full-traceback")
    if options.compiled:
        command.insert(at, "--compile")
    try:
        return Launch(launch_options, command, not options.no_prefix, environment)
    except ValueError as error:
        options.parser.error(str(error))
        raise  # never: the parser leaves


def _deliver_lanes(
    options: Any,
    launch: Launch,
    folder: str,
    run: tuple[str, int],
    page: str | None,
    data: str | None,
) -> None:
    """Write what the ranks of the last attempt noted; what goes wrong here does no harm."""
    from wengert.cli._page._ranks import RanksRun, ranks_page
    from wengert.cli._rank_times import RunTimes

    began, status = run
    times = RunTimes.read(folder, launch.restarts)
    script, *arguments = options.target
    seen = RanksRun(
        script, arguments, options.module, began, launch.count, status,
        launch.failures, launch.restarts, times,
    )  # fmt: skip
    if data is not None:
        write_report(data, lambda: json.dumps(seen.to_dict(), indent=2) + "\n")
    if page is not None and write_report(page, lambda: ranks_page(seen)) and not options.quiet:
        print(f"wengert run: the report is {page}", file=sys.stderr, flush=True)
