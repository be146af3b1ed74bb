#!/usr/bin/env python3
"""Independent account of recordings (.kreach), held against `kreach report --json`.

Usage: recording.py KREACH RECORDING...

Reads the files by what docs/format.md says and nothing else, then compares as account.py does. One
process with work in each: those of several are put on a common clock, which is kreach's own affair.
Exits 1 when one differs, after naming every difference.
"""
import json
import struct
import subprocess
import sys

import account

SIGNATURE = b"KREACH\x1a\n"
NAMES, TRACKS, SITES, EVENTS, TOTALS, END = 3, 5, 6, 7, 13, 14
KERNEL, MEMCPY, MEMSET, GRAPH = range(4)
COUNTED = {KERNEL: "kernels", MEMCPY: "memcpys", MEMSET: "memsets"}
# CUPTI's numbers, as its headers have them.
COPY = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
MEMORY = {1: "Pageable", 2: "Pinned", 3: "Device"}


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82f63b78 * (byte & 1)
        yield byte


TABLE = list(crc_table())


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[crc & 0xff ^ byte]
    return crc ^ 0xffffffff


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def svarint(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def text(self):
        n = self.varint()
        self.at += n
        return self.data[self.at - n:self.at].decode("utf-8", "replace")

    def varints(self, n):
        return [self.varint() for _ in range(n)]


def chunks(data):
    """(section, type, payload) of a file without damage; anything else is an error."""
    at, section = 0, -1
    while at < len(data):
        if data.startswith(SIGNATURE, at):
            at, section = at + len(SIGNATURE), section + 1
            continue
        magic, kind, _, size, crc = struct.unpack_from("<IHHII", data, at)
        payload = data[at + 16:at + 16 + size]
        if magic != 0x4b43524b or crc32c(data[at:at + 12] + payload) != crc:
            raise ValueError("no whole chunk at byte %d" % at)
        yield section, kind, payload
        at += 16 + size


def site(c):
    kind, name = c.u8(), c.varint()
    if kind == KERNEL:
        c.varints(10)
        return kind, name, None
    if kind == MEMCPY:
        copy, source, target = c.u8(), c.u8(), c.u8()
        c.varints(4)
        return kind, name, "Memcpy %s (%s -> %s)" % (COPY[copy], MEMORY[source], MEMORY[target])
    if kind == MEMSET:
        memory = c.u8()
        c.varints(3)
        return kind, name, "Memset (%s)" % MEMORY[memory]
    c.varint()
    return kind, name, None


class Section:
    """What is defined in one section, by id, and its work."""

    def __init__(self):
        self.names, self.tracks, self.sites = {0: ""}, {}, {}
        self.work, self.totals, self.ended = [], {}, False

    def take(self, kind, payload):
        c = Cursor(payload)
        if kind in (NAMES, TRACKS, SITES):
            i = c.varint()
            table, read = {NAMES: (self.names, Cursor.text), SITES: (self.sites, site),
                           TRACKS: (self.tracks, lambda c: c.varints(3))}[kind]
            while c.more():
                table[i] = read(c)
                i += 1
        elif kind == EVENTS:
            self.events(c)
        elif kind == TOTALS:
            self.totals = {}
            while c.more():
                key = c.varint()
                self.totals[key] = c.varint()
        self.ended = kind == END

    def events(self, c):
        n, start = c.varint(), c.svarint()
        for _ in range(n):
            track, which = c.varint(), c.varint()
            start += c.svarint()
            duration = c.varint()
            c.svarint()
            kind, name, made = self.sites[which]
            self.work.append((self.tracks[track][0], COUNTED[kind], made or self.names[name], start,
                              start + duration))


def read(path):
    sections = {}
    with open(path, "rb") as f:
        for section, kind, payload in chunks(f.read()):
            sections.setdefault(section, Section()).take(kind, payload)
    with_work = [s for s in sections.values() if s.work]
    if len(with_work) != 1 or not all(s.ended for s in sections.values()):
        raise ValueError("not one process with work, or one without its end")
    section = with_work[0]
    for key, kind in enumerate(COUNTED.values(), 1):
        if section.totals.get(key, 0) != sum(w[1] == kind for w in section.work):
            raise ValueError("the file's own total of %s is another" % kind)
    return section.work


def main():
    kreach, recordings = sys.argv[1], sys.argv[2:]
    bad = 0
    for path in recordings:
        run = subprocess.run([kreach, "report", "-q", "--window", "all", "--json", path],
                             stdout=subprocess.PIPE, check=False)
        try:
            work = read(path)
            found = account.compare(path, json.loads(run.stdout), work)
        except (ValueError, KeyError, IndexError) as e:
            found = ["%s: %s: %s" % (path, type(e).__name__, e)]
        print("\n".join(found) if found else
              "%s: %d pieces of device work agree to the nanosecond" % (path, len(work)))
        bad += bool(found)
    sys.exit(1 if bad or not recordings else 0)


if __name__ == "__main__":
    main()
