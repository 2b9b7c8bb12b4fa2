"""`prof mcp` serves the answers of `prof` to coding agents over the Model Context Protocol."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from profiler.ask.named.reach import Reach
from profiler.commands.reading.agent_tools import INSTRUCTIONS, TOOLS, Tool, ToolFailed
from profiler.commands.shared import options
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.verb import OfOptions
from profiler.errors import McpNotInstalled
from profiler.store.disk import write_whole
from profiler.store.runs.manifest import prof_version

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.types import CallToolResult, Tool as ToolDescription

_LAST_S = 2.0  # seconds until the process ends after its input has, even if a call is still running


def mcp(
    settings: Annotated[options.VerbSettings, OfOptions(options.settings_of, "runs", "ladder")],
    reports: Annotated[
        list[Path] | None,
        Option(
            metavar="DIR",
            help="Allow report files below this folder; may be repeated [default: the current folder, unless it contains your home folder].",
        ),
    ] = None,
    skill: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            dir_okay=False,
            help="Write a skill file that teaches an agent to work with prof, and serve nothing.",
        ),
    ] = None,
) -> None:
    """Serve these answers to coding agents, read-only.

    An agent's client starts this server of the Model Context Protocol (MCP), which answers on standard input and
    output. Its tools compare, ladder, show, sass, check and list return the JSON of the verbs of these names. It
    reads only the runs, and report files below the folders of --reports: it follows no link out of them and opens
    no URL except that of the runs. It ends when its input ends. It needs `pip install 'ncu-prof[mcp]'`.

    Examples:
      prof mcp
      prof mcp --skill SKILL.md
      prof mcp --runs ~/profiles/runs --reports ~/profiles/new --ladder norms
    """
    if skill is not None:
        write_whole(SKILL.encode(), skill)
        settings.say(f"Wrote {skill}")
        return
    for folder in reports or ():
        if not folder.is_dir():
            raise Misuse(f"--reports {folder}: no such folder")
    settings = replace(settings, reach=Reach.of(settings.runs_folder, reports))
    try:
        import anyio
        import mcp_types  # noqa: F401 - version 1 of the SDK does not have it
    except ModuleNotFoundError as error:
        raise McpNotInstalled(f"the MCP SDK for Python, version 2, is not installed: {error}") from None
    if sys.stdin.isatty() and not settings.quiet:
        print("waiting for an MCP client on standard input; Ctrl-D ends it", file=sys.stderr)
    signal.signal(signal.SIGINT, _leave)
    client_is_gone = False
    try:
        anyio.run(_serve, settings)
    except* BrokenPipeError:
        client_is_gone = True
    if client_is_gone:
        raise BrokenPipeError


def _leave(*_: object) -> None:
    """Ends the process at once, since the thread that waits for input cannot be stopped."""
    os._exit(130)


def _end() -> None:
    """Ends the process although a call is under way: removes its readers' semaphores, of which Python would warn."""
    from multiprocessing import util

    with suppress(Exception):
        util._run_finalizers(0)  # type: ignore[attr-defined]  # no more than these: the rest of what Python does at exit waits for the call
    os._exit(0)


async def _serve(settings: options.VerbSettings) -> None:
    from anyio import create_memory_object_stream, create_task_group
    from mcp.server.stdio import stdio_server

    server = _make_server(settings)
    async with stdio_server() as (incoming, outgoing), create_task_group() as tasks:
        passed_on, messages = create_memory_object_stream[Any](0)
        tasks.start_soon(_pass_messages_on, incoming, passed_on, outgoing)
        await server.run(messages, outgoing, server.create_initialization_options())
        # A call that hangs, or a client that reads no answers, must not keep the process alive.
        last = threading.Timer(_LAST_S, _end)
        last.daemon = True
        last.start()


async def _pass_messages_on(incoming: Any, passed_on: Any, outgoing: Any) -> None:
    """Passes the messages on to the server, and answers a line that is none, which the SDK would pass over in silence."""
    from mcp import types as protocol
    from mcp.shared.message import SessionMessage

    async with passed_on:
        async for message in incoming:
            if not isinstance(message, Exception):
                await passed_on.send(message)
                continue
            code, said = protocol.INVALID_REQUEST, "this JSON is no message of JSON-RPC 2.0"
            if any(one["type"] == "json_invalid" for one in getattr(message, "errors", list)()):
                code, said = protocol.PARSE_ERROR, "this line is not JSON"
            error = protocol.ErrorData(code=code, message=said)
            await outgoing.send(SessionMessage(protocol.JSONRPCError(jsonrpc="2.0", id=None, error=error)))


def _make_server(settings: options.VerbSettings) -> Server[Any]:
    """Returns a server that handles one call at a time, since the calls share one interpreter and one report reader."""
    from anyio import CapacityLimiter, to_thread
    from mcp import types as protocol
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError

    tools = {tool.name: tool for tool in TOOLS}
    one_at_a_time = CapacityLimiter(1)

    async def list_tools(*_: object) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[_described(tool, settings) for tool in TOOLS])

    async def call_tool(_: object, call: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        tool = tools.get(call.name)
        if tool is None:
            raise MCPError(protocol.INVALID_PARAMS, f"no tool of that name; there are {', '.join(tools)}")
        return await to_thread.run_sync(
            _result, tool, call.arguments or {}, settings, limiter=one_at_a_time, abandon_on_cancel=True
        )

    return Server(
        "prof",
        version=prof_version(),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool, settings: options.VerbSettings) -> ToolDescription:
    from mcp import types as protocol

    return protocol.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=protocol.ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=not isinstance(settings.runs_folder, Path),
        ),
    )


def _result(tool: Tool, arguments: dict[str, Any], settings: options.VerbSettings) -> CallToolResult:
    """Returns the JSON as text and as an object; a failure as text alone."""
    from mcp import types as protocol

    try:
        text = tool.call(arguments, settings)
    except ToolFailed as failure:
        return protocol.CallToolResult(content=[protocol.TextContent(text=str(failure))], is_error=True)
    return protocol.CallToolResult(
        content=[protocol.TextContent(text=text)],
        structured_content=_without_lone_surrogates(json.loads(text)),
    )


def _without_lone_surrogates(finding: Any) -> Any:
    """Replaces lone surrogates: a path may contain them, but the protocol's UTF-8 cannot."""
    return json.loads(json.dumps(finding, ensure_ascii=False).encode(errors="replace"))


SKILL = """\
---
name: prof
description: Make a CUDA kernel faster, or find out why a change made it slower, with recorded Nsight Compute profiles.
---

# Make a kernel faster with prof

Repeat this loop. Change one thing at a time, so that each difference has one reason.

1. **Measure.** Record a profile of the kernel as it is: `prof collect` for a kernel of a ladder, or
   `ncu --set full --import-source yes --nvtx --launch-count 5 -o before PROGRAM` for any program. Compile with
   `-lineinfo`. One launch decides nothing: if the program launches the kernel once, record it in several processes with
   `prof collect --processes 5 --name before -- PROGRAM`, which stores the run `before`. If several kernels are launched,
   choose the one to work on with `--kernel-name regex:NAME`, which both take.
2. **Read the cause.** `prof show before.ncu-rep --format json`. Read `headline` first: `what`, `why` and `next`. Of several
   kernels, `index` lists all by their share of the time: work on the first, and choose it with `-k NAME`. Each of its
   `causes` has `where` (file and line), `try` (what to change) and `saves_pct` (`expected` and `at_most`, in percent of
   the time). Take the cause with the largest `expected`. If the `together` of the next one is far more, they hide each
   other: change both before you compare. If neither figure is 5 %, stop: say so.
3. **Change.** Do what `try` says at the line in `where`, and nothing else. Check that the result is still correct.
4. **Compare.** Record again under another name, then `prof compare before.ncu-rep after.ncu-rep --format json`; or type
   the same `prof collect` again, then `prof compare before --format json`, which compares with the run before it.
   `speedup.ratio` with its interval `speedup.ci` decides, not a utilisation. A `verdict` of `unclear` is no success:
   record more launches or processes of both. Keep the change only if the whole interval is above 1. Of several kernels, `--all` compares each,
   and `index` lists them by how much their time changed.
5. **Check.** `prof check --baseline before.ncu-rep after.ncu-rep --max-slower 2%` exits 0 if nothing got worse, 1 if
   something did; then `headline.what` says what, `pairs[].why` why, `factors` how much, and `cause` has `where` and what to `try`.

Then go on with the new profile as `before`.

Rules: quote a figure with its interval. Never report a gain that `compare` does not confirm. Do not record while another
program uses the GPU. The tools `show`, `compare`, `sass`, `check` and `list` of `prof mcp` give the same answers as the commands.
"""
