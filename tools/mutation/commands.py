"""Faults of the command line, of folders of calls and of the pytest plugin."""

from __future__ import annotations

from .mutant import Fault

COMMANDS, FOLDERS = "python/npu_quant/commands", "python/npu_quant/golden/folders"
PLUGIN = "python/npu_quant/pytest_plugin"

FAULTS = [
    Fault(
        "compare: a golden of the user's is taken for what is judged",
        f"{COMMANDS}/named.py",
        "return named.golden if start else named.actual",
        "return named.actual",
        "cli",
    ),
    Fault(
        "compare: the last of two files of a name counts",
        f"{COMMANDS}/named.py",
        "            if name in given:\n",
        "            if False:\n",
        "cli",
    ),
    Fault(
        "compare: files in order are taken where some are missing",
        f"{COMMANDS}/named.py",
        "and len(in_order) == len(names)",
        "and len(in_order) <= len(names)",
        "cli",
    ),
    Fault(
        "compare: one array may be judged by itself",
        f"{COMMANDS}/opened.py",
        "            if same_file(source, second):\n",
        "            if source is second:\n",
        "cli",
    ),
    Fault(
        "compare: an output without a file fails",
        f"{COMMANDS}/opened.py",
        "Opened(absent | actual,",
        "Opened(actual,",
        "cli",
    ),
    Fault(
        "compare: --dtype of one file is for all",
        f"{COMMANDS}/files.py",
        "        if name and name in given:\n",
        "        if False:\n",
        "cli",
    ),
    Fault(
        "compare: an option that nothing needs is passed over",
        f"{COMMANDS}/files.py",
        "if value not in (None, False) and option not in self.used:",
        "if value not in (None, False) and not self:",
        "cli",
    ),
    Fault(
        "compare: a refused file is not named",
        f"{COMMANDS}/compare.py",
        "    if files is None or error.caller != files.op:\n",
        "    if True:\n",
        "cli",
    ),
    Fault(
        "compare: reports name Python's arguments",
        "python/npu_quant/cli.py",
        "AT_PROMPT.set(True)",
        "AT_PROMPT.set(False)",
        "cli",
    ),
    Fault(
        "compare: remedies in Python are told",
        "python/npu_quant/errors.py",
        'either(self.remedy, "")',
        "self.remedy",
        "cli folders_calls",
    ),
    Fault(
        "compare: what comes after the command has its words",
        "python/npu_quant/cli.py",
        "        AT_PROMPT.reset(at_prompt)\n",
        "        pass\n",
        "cli",
    ),
    Fault(
        "folders: an array of no call is passed over",
        f"{FOLDERS}/computed.py",
        "        if entry.file not in rows.keys() | used\n",
        "        if entry.fault is not None\n",
        "folders",
    ),
    Fault(
        "folders: a call's row passes though its scale fails",
        f"{FOLDERS}/computed.py",
        "comparison.output(name), keep",
        "comparison.outputs[-1], keep",
        "folders",
    ),
    Fault(
        "folders: a raw input is none where only the other side says what it holds",
        f"{FOLDERS}/by_operator.py",
        "return entry.open(like, pass_.dtype)",
        "return entry.open(None, pass_.dtype)",
        "folders",
    ),
    Fault(
        "folders: the name of a call ends at its first separator",
        "python/npu_quant/golden/operators/dumped.py",
        "(?:(.*?)(?:/|::|[._-]))?",
        "(?:([^/:._-]*?)(?:/|::|[._-]))?",
        "folders",
    ),
    Fault(
        "compare: a raw int4 has a byte of its own",
        "python/npu_quant/golden/operators/dumped.py",
        "or golden.size == size:",
        "or golden.size >= size:",
        "cli_operators",
    ),
    Fault(
        "pytest: the golden of a test that fails is stored",
        f"{PLUGIN}/fixture.py",
        "                if passed:\n",
        "                if True:\n",
        "pytest_plugin",
    ),
    Fault(
        "pytest: what a later plugin says of a test is not heard",
        "python/npu_quant_pytest/ledger.py",
        "and all(each.passed for each in reports)",
        "and not any(each.failed for each in reports)",
        "pytest_plugin",
    ),
    Fault(
        "pytest: a write that is cut short leaves half a golden",
        f"{PLUGIN}/archive.py",
        'path.with_name(f".{path.name}-{uuid4().hex}.tmp")',
        "path",
        "pytest_plugin",
    ),
]
