# SPDX-License-Identifier: Apache-2.0
"""A worker: grades completions with a user's functions.

Started by a keeper as `python3 THIS file.py:function ...` with a stream socket
as descriptor 3. Each message is a length (4 bytes, little-endian) and JSON.

  us -> pool  {"ready": true} or {"failed": traceback}, once
  pool -> us  {"function", "completions": [...], "columns": {...}}
  us -> pool  {"results": [{"reward": number} | {"error": text}, ...]}

A function gets all completions of a call and one keyword argument a column,
and returns a number for each completion.
"""
import importlib.util
import json
import numbers
import os
import signal
import socket
import struct
import sys
import traceback

FRAME_FD = 3
MAX_REWARD = 3.4028234663852886e38  # of a float
MAX_TEXT = 8000  # characters of an error


def load(spec):
    path, _, name = spec.rpartition(":")
    path = os.path.abspath(path)
    sys.path.insert(0, os.path.dirname(path))
    module_name = os.path.splitext(os.path.basename(path))[0]
    found = importlib.util.spec_from_file_location(module_name, path)
    if found is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[module_name] = module  # pickle and dataclasses look there
    found.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise AttributeError(f"{path} has no function '{name}'")
    return function


def explain(error):
    """The traceback without our own frames, as text that JSON can carry."""
    at = error.__traceback__
    while at and at.tb_frame.f_code.co_filename.startswith(
            (__file__, "<frozen importlib")):
        at = at.tb_next
    lines = traceback.format_exception(type(error), error, at, limit=-20)
    text = "".join(lines).encode("utf-8", "backslashreplace").decode()
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT // 2] + "\n...\n" + text[-MAX_TEXT // 2:]
    return text


def grade_one(value):
    if hasattr(value, "item"):  # numpy and torch scalars
        value = value.item()
    if not isinstance(value, numbers.Real):  # bool is one
        return {"error": f"not a number: {value!r:.200}"}
    if not -MAX_REWARD <= value <= MAX_REWARD:
        return {"error": f"not a finite number of 32 bits: {value!r:.200}"}
    return {"reward": float(value)}


def call(function, completions, columns):
    count = len(completions)
    try:
        values = function(completions, **columns)
        if (isinstance(values, (str, bytes, dict, set, frozenset))
                or not hasattr(values, "__iter__")):
            return [{"error": f"returned {type(values).__name__} "
                     f"{values!r:.200}; allowed: a list with a number for "
                     f"each of the {count} completions"}] * count
        values = list(values)
        if len(values) != count:
            return [{"error": f"{len(values)} rewards for {count} completions"}
                    ] * count
        return [grade_one(value) for value in values]
    except BaseException as e:  # SystemExit, too: the call is lost, we are not
        return [{"error": explain(e)}] * count


def read_exactly(stream, size):
    data = stream.read(size)
    if len(data) < size:  # the pool is gone; our keeper ends what we started
        os._exit(0)
    return data


def send(stream, message):
    data = json.dumps(message).encode()
    stream.write(struct.pack("<I", len(data)) + data)
    stream.flush()


def leave_stopping_to_the_keeper():
    """A scheduler signals every process of a job, which then drains: it still
    needs us. What a function forks has the signals' own meaning."""
    ours = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in ours:
        signal.signal(number, lambda *_: None)

    def reset():
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    os.register_at_fork(after_in_child=reset)


def main():
    leave_stopping_to_the_keeper()
    # Out of the functions' reach: they may print, fork and exec.
    number = os.dup(FRAME_FD)
    os.close(FRAME_FD)
    os.dup2(2, 1)
    stream = socket.socket(fileno=number).makefile("rwb")
    functions = {}
    try:
        for spec in sys.argv[1:]:
            functions[spec] = load(spec)
    except BaseException as e:
        send(stream, {"failed": explain(e)})
        return
    send(stream, {"ready": True})
    while True:
        size, = struct.unpack("<I", read_exactly(stream, 4))
        request = json.loads(read_exactly(stream, size))
        results = call(functions[request["function"]], request["completions"],
                       request["columns"])
        sys.stdout.flush()
        sys.stderr.flush()
        send(stream, {"results": results})


main()
