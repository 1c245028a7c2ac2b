"""``wengert run --nproc N``: a script in several processes."""

from __future__ import annotations

import sys
from typing import Any

from wengert.distributed.run import Launch, command_for, get_args_parser


def run_ranks(options: Any) -> int:
    """Start the ranks of a script; return the exit code of the first that failed, or 0."""
    if options.report or options.report_json:
        print("wengert run: --report and --report-json are for one process", file=sys.stderr)
        return 2
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
        launch = Launch(launch_options, command, prefix=not options.no_prefix)
    except ValueError as error:
        options.parser.error(str(error))
    return launch.run()
