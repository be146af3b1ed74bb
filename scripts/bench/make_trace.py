#!/usr/bin/env python3
"""Makes a large trace by repeating the events of a real one: make_trace.py FROM TO MEGABYTES.

Each repetition is moved behind the one before, with its own correlation and External ids.
"""
import gzip
import re
import sys
from pathlib import Path

NUMBER = re.compile(rb'("ts": |"External id": |"correlation": |"id": )(\d+)')


def main():
    source, target, megabytes = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    raw = source.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    start = raw.index(b"[", raw.index(b'"traceEvents"')) + 1
    end = raw.rindex(b"]")
    head, body, tail = raw[:start], raw[start:end], raw[end:]
    parts, at = [], 0
    stamps, ids = [], []
    for m in NUMBER.finditer(body):
        parts.append(body[at:m.start(2)])
        value = int(m.group(2))
        is_time = m.group(1) == b'"ts": '
        (stamps if is_time else ids).append(value)
        parts.append((value, is_time))
        at = m.end(2)
    parts.append(body[at:])
    step_us = max(stamps) - min(stamps) + 1000000
    step_id = max(ids) + 1
    with target.open("wb") as out:
        out.write(head)
        size, i = len(head), 0
        while size < megabytes * 1e6:
            text = b"".join(p if isinstance(p, bytes)
                            else b"%d" % (p[0] + i * (step_us if p[1] else step_id))
                            for p in parts)
            out.write(b"," if i else b"")
            out.write(text)
            size += len(text) + 1
            i += 1
        out.write(tail)


if __name__ == "__main__":
    main()
