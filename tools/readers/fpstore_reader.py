#!/usr/bin/env python3
"""A simple reader of fpstore stores, written only from format-spec.md to verify that document.

    fpstore_reader.py dump STORE           every fingerprint and id, in the format of 'fpstore dump'
    fpstore_reader.py verify STORE         check rules R-1 to R-30
    fpstore_reader.py query STORE HEX K    fingerprints within K bits, by a full read of table 0

Exit status: 0 found or done, 1 nothing within K (query) or damaged (verify), 2 could not answer.
It reads whole files into memory and is meant for small stores.
"""

import os
import struct
import sys
import zlib

PAGE = 4096
VERSION, VERSION_WITH_SYNDROMES = 2, 3
NUMBER_MAX = 1 << 62
RECIPE, INDEX, TAILS, HEADS, OVERFLOW, GROUPS, RECORDS, CHECKSUMS = range(1, 9)
NAMES = "- recipe prefix-index tails heads overflow-entries id-groups id-records checksums".split()
NO_IDS, U64_IDS, TEXT_IDS = range(3)
VARINT_BLOCKS = 1
SEGMENT_FIXED, DESCRIPTOR, DIRECTORY_ENTRY = 80, 16, 24
MANIFEST_FIXED, MANIFEST_ENTRY, DELETION_FIXED = 48, 88, 56
INDEX_ENTRY, OVERFLOW_ENTRY = 64, 256
DIFFERENCE_MAX = 4095


class Fault(Exception):
    """A broken rule: the message names file, place and rule."""


class File:
    """The bytes of one file, and errors that name the broken rule and its place."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()

    def need(self, holds, rule, at, words):
        if not holds:
            raise Fault(f"{self.path}: byte {at:#x}: {words} (R-{rule})")

    def text(self, raw, rule, at):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.need(False, rule, at, "a text is not UTF-8")

    def check_start(self, magic, least_len, len_rule, newest=VERSION):
        """Checks the magic, the length and the version, before the CRC is checked."""
        self.need(self.data[:8] == magic, 1, 0, f"starts with '{self.data[:8].hex(' ')}'")
        self.need(len(self.data) >= least_len, len_rule, len(self.data), "the file is cut short")
        version, = struct.unpack_from("<H", self.data, 8)
        known = f"{VERSION} to {newest}"
        self.need(VERSION <= version <= newest, 2, 8, f"version {version}, known are {known}")
        return version

    def check_crc(self, end, reserved_end=12):
        expected, = struct.unpack_from("<I", self.data, end - 4)
        found = zlib.crc32(self.data[:end - 4])
        self.need(found == expected, 4, end - 4, f"checksum {found:08x}, expected {expected:08x}")
        self.need(not any(self.data[10:reserved_end]), 5, 10, "reserved bytes are not zero")

    def varint(self, data, at, end, start, cut_rule):
        """The varint at `data[at:end]` and its end; `start` is the file offset of `data[0]`."""
        value, first, byte = 0, at, 128
        while byte > 127 and at - first < 10:
            self.need(at < end, cut_rule, start + first, "a varint is cut short")
            byte = data[at]
            value |= (byte & 127) << 7 * (at - first)
            at += 1
        fits = byte < 128 and value < 1 << 64 and (byte > 0 or at == first + 1)
        self.need(fits, 13, start + first, "a varint is too long or exceeds 64 bits")
        return value, at


class Segment(File):
    """One segment file. The constructor performs the checks of opening."""

    deletions = None

    def __init__(self, path):
        super().__init__(path)
        data, need = self.data, self.need
        version = self.check_start(b"\x89FPS\r\n\x1a\n", SEGMENT_FIXED, 3, VERSION_WITH_SYNDROMES)
        (header_len, file_len, self.count, self.id_count, self.id_kind, self.id_len, tuned_k,
         self.sketch_len, table_count, section_count) = struct.unpack_from("<IQQQBBBBHH", data, 12)
        directory_at = SEGMENT_FIXED + DESCRIPTOR * table_count
        used = directory_at + DIRECTORY_ENTRY * section_count
        # The header must be complete before its CRC can be checked.
        need(SEGMENT_FIXED + 4 <= header_len <= len(data), 6, 12, f"a header of {header_len} bytes")
        self.check_crc(header_len)
        self.digest = sip_hash(data[:header_len])
        need(file_len == len(data), 3, 16, f"{len(data)} bytes, the header says {file_len}")
        need(self.count <= 1 << 40, 6, 24, f"{self.count} fingerprints")
        need(self.id_kind <= TEXT_IDS, 6, 40, f"id kind {self.id_kind}")
        need(self.id_count <= (1 << 40 if self.id_kind else 0), 6, 32, f"{self.id_count} ids")
        allowed = range(1, 9) if self.id_kind == U64_IDS else (0,)
        need(self.id_len in allowed, 6, 41, f"ids of {self.id_len} bytes")
        need(tuned_k <= 64, 6, 42, f"tuned for {tuned_k}")
        need(1 <= table_count <= 256, 6, 44, f"{table_count} tables")
        need(section_count == 2 + 4 * table_count + (2 if self.id_kind else 0), 9, 46,
             f"{section_count} sections")
        need(header_len == pages(used + 4) * PAGE, 6, 12, f"a header of {header_len} bytes")
        need(not any(data[used:header_len - 4]), 5, used, "rest of the header is not zero")
        self.tables = []
        for at in range(SEGMENT_FIXED, directory_at, DESCRIPTOR):
            (mask, codec, tail_bits, block_bits, syndrome_bits,
             reserved) = struct.unpack_from("<QBBBB4s", data, at)
            known = [table[0] for table in self.tables]
            need(mask and mask not in known, 7, at, f"mask {mask:016x} is zero or repeated")
            need(codec == VARINT_BLOCKS, 8, at + 8, f"head codec {codec}")
            need(tail_bits <= 56, 8, at + 9, f"{tail_bits} tail bits")
            need(block_bits <= min(40, 64 - tail_bits), 8, at + 10, f"{block_bits} block bits")
            need(not any(reserved) and (version > VERSION or syndrome_bits == 0), 5, at + 11,
                 "reserved bytes are not zero")
            hashed_bits = min(tail_bits, 64 - mask.bit_count()) if syndrome_bits else 0
            if syndrome_bits:
                right = self.tables and 6 <= syndrome_bits <= 21 and syndrome_bits < hashed_bits <= 32
                need(right, 30, at + 11, f"syndromes of {syndrome_bits} bits for {hashed_bits}")
            self.tables.append((mask, tail_bits, block_bits, syndrome_bits, hashed_bits))
        self.read_directory(directory_at, header_len)
        recipe, start = self.section(RECIPE)
        # Control characters are the characters of Unicode category Cc.
        plain = all(c == "\n" or c >= " " and not "\x7f" <= c <= "\x9f"
                    for c in self.text(recipe, 21, start))
        need(plain, 21, start, "the recipe has a control character")
        # Imported fingerprints may have fewer than 64 bits.
        lines = recipe.split(b"\n")
        self.bits = 64
        if lines[0] == b"external" and len(lines) > 1:
            narrow = {b"bits=%d" % bits: bits for bits in range(8, 64, 8)}
            need(len(lines) == 2 and lines[1] in narrow, 31, start, "the recipe has no width")
            self.bits = narrow[lines[1]]

    def read_directory(self, at, header_len):
        wanted = [(kind, table) for table in range(len(self.tables)) for kind in range(2, 6)]
        wanted += [(GROUPS, 0), (RECORDS, 0)] if self.id_kind else []
        self.directory, start = {}, header_len
        for entry in [(RECIPE, 0)] + wanted + [(CHECKSUMS, 0)]:
            kind, table, reserved, offset, length = struct.unpack_from("<HHIQQ", self.data, at)
            self.need((kind, table) == entry, 9, at, f"section {kind} of table {table}")
            self.need(reserved == 0, 5, at + 4, "reserved bytes are not zero")
            self.need(offset == start, 9, at + 8, f"offset {offset:#x}, expected {start:#x}")
            _, tail_bits, block_bits, syndrome_bits, hashed_bits = self.tables[table]
            stored_bits = tail_bits - hashed_bits + syndrome_bits
            exact = {
                INDEX: INDEX_ENTRY * ceil(1 << block_bits, 16),
                TAILS: ceil(self.count * stored_bits, 8) + 8 if stored_bits else 0,
                GROUPS: 8 * (ceil(self.count, 32) + 1),
                CHECKSUMS: (start - header_len) // PAGE * 4,
            }
            right = length == exact.get(kind, length)
            right = right and (kind != RECIPE or 1 <= length <= 65536)
            right = right and (kind != OVERFLOW or length % OVERFLOW_ENTRY == 0)
            self.need(right, 10, at + 16, f"{NAMES[kind]} of {length} bytes")
            self.directory[entry] = (offset, length)
            start += pages(length) * PAGE
            self.need(start <= len(self.data), 9, at + 16, f"{NAMES[kind]} end after the file")
            at += DIRECTORY_ENTRY
        self.need(start == len(self.data), 9, at - DIRECTORY_ENTRY, "bytes after the last section")

    def section(self, kind, table=0):
        """The bytes of a section, after its pages are checked (R-11), and its file offset."""
        offset, length = self.directory[kind, table]
        first_page = (offset - self.directory[RECIPE, 0][0]) // PAGE
        for page in range(pages(length)):
            at = offset + page * PAGE
            sum_at = self.directory[CHECKSUMS, 0][0] + 4 * (first_page + page)
            expected, = struct.unpack_from("<I", self.data, sum_at)
            found = zlib.crc32(struct.pack("<HHIQ", kind, table, 0, page))
            found = zlib.crc32(self.data[at:at + PAGE], found)
            self.need(found == expected, 11, at,
                      f"{NAMES[kind]}: checksum {found:08x}, expected {expected:08x}")
        return self.data[offset:offset + length], offset

    def ends(self, number):
        """The ends of all blocks of a table, as pairs of a rank and a byte offset (R-15)."""
        index, start = self.section(INDEX, number)
        overflow, overflow_start = self.section(OVERFLOW, number)
        ends, last, used = [], (0, 0), 0
        for entry in range(0, len(index), INDEX_ENTRY):
            heads_base, rank_base = struct.unpack_from("<QQ", index, entry)
            overflows = heads_base >> 63 == 1
            if overflows:
                at = OVERFLOW_ENTRY * used
                known = heads_base == (1 << 63) + used and at < len(overflow)
                known = known and not any(index[entry + 24:entry + INDEX_ENTRY])
                self.need(known, 15, start + entry, f"does not refer to overflow entry {used}")
                heads_base, = struct.unpack_from("<Q", index, entry + 16)
                pairs = list(struct.iter_unpack("<QQ", overflow[at:at + OVERFLOW_ENTRY]))
                used += 1
            else:
                u24s = [int.from_bytes(index[at:at + 3], "little")
                        for at in range(entry + 16, entry + INDEX_ENTRY, 3)]
                pairs = [(u24 & DIFFERENCE_MAX, u24 >> 12) for u24 in u24s]
            self.need((rank_base, heads_base) == last, 15, start + entry,
                      f"bases {rank_base} and {heads_base}, expected {last}")
            needs_overflow = any(max(pair) > DIFFERENCE_MAX for pair in pairs)
            self.need(overflows == needs_overflow, 15, start + entry,
                      "an overflow entry without need, or the reverse")
            for ranks, byte_count in pairs:
                end = (rank_base + ranks, heads_base + byte_count)
                past_last = len(ends) >> self.tables[number][2] > 0
                ascends = end[0] >= last[0] and end[1] >= last[1]
                self.need(end == last if past_last else ascends, 15, start + entry,
                          "ends do not ascend, or not stop at the last block")
                last = end
                if not past_last:
                    ends.append(end)
        whole = (self.count, self.directory[HEADS, number][1])
        self.need(last == whole, 15, start, f"the last end is {last}, expected {whole}")
        self.need(OVERFLOW_ENTRY * used == len(overflow), 15, overflow_start,
                  "overflow entries without an index entry")
        return ends

    def table(self, number):
        """All values of a table: fingerprints in order of rank; all keys for a table with syndromes.
        Checks R-12 to R-17."""
        mask, tail_bits, block_bits, syndrome_bits, hashed_bits = self.tables[number]
        stored_bits = tail_bits - hashed_bits + syndrome_bits
        tails, tails_start = self.section(TAILS, number)
        heads, start = self.section(HEADS, number)
        after = int.from_bytes(tails, "little") >> self.count * stored_bits
        self.need(after == 0, 17, tails_start, "bits after the last number are not zero")
        natural = natural_bits(mask) if syndrome_bits == 0 else lambda key: key
        block_shift = 64 - tail_bits - block_bits
        fingerprints, previous, at, rank = [], -1, 0, 0
        for block, (end_rank, end) in enumerate(self.ends(number)):
            count = end_rank - rank
            is_long = count > 256
            points, first = at, at + (16 * (ceil(count, 128) - 1) if is_long else 0)
            self.need(first <= end, 16, start + points, "restart points exceed their block")
            at, head = first, block << block_shift
            for position in range(count):
                if is_long and position and position % 128 == 0:
                    found = struct.unpack_from("<QQ", heads, points)
                    self.need(found == (head, at - first), 16, start + points,
                              f"restart point {found}, expected {(head, at - first)}")
                    points += 16
                gap, at = self.varint(heads, at, end, start, 15)
                head += gap
                self.need(head >> block_shift == block, 14, start + at, f"not of block {block}")
                byte, bit = divmod(rank * stored_bits, 8)
                stored = int.from_bytes(tails[byte:byte + 8], "little") >> bit
                value = head << stored_bits | stored & (1 << stored_bits) - 1
                ascends = value > previous or syndrome_bits and value == previous
                self.need(ascends, 12, start + at, "values do not ascend")
                fingerprints.append(natural(value))
                previous = value
                rank += 1
            self.need(at == end, 15, start + at, f"block {block} has bytes after its last value")
        return fingerprints

    def keys(self, number, fingerprints):
        """The values stored in a table for these fingerprints: the fingerprints themselves, or keys."""
        mask, _, _, syndrome_bits, hashed_bits = self.tables[number]
        if syndrome_bits == 0:
            return fingerprints
        permuted = permuted_bits(mask)
        keys = []
        for value in map(permuted, fingerprints):
            syndrome = 0
            for bit in range(hashed_bits):
                if value >> bit & 1:
                    syndrome ^= column(bit, syndrome_bits)
            keys.append(value >> hashed_bits << syndrome_bits | syndrome)
        return keys

    def ids(self):
        """The ids of each fingerprint in order of rank, as printable bytes (R-18, R-19)."""
        return [[text for text, _ in ids] for ids in self.ids_and_sketches()]

    def ids_and_sketches(self):
        if self.id_kind == NO_IDS:
            return [()] * self.count
        groups, groups_start = self.section(GROUPS)
        records, start = self.section(RECORDS)
        group_ends = struct.unpack(f"<{len(groups) // 8}Q", groups)
        all_ids, at, end, largest = [], 0, len(records), 0
        for rank in range(self.count + 1):
            if rank % 32 == 0 or rank == self.count:
                group = ceil(rank, 32)
                self.need(group_ends[group] == at, 18, groups_start + 8 * group,
                          f"a group starts at {group_ends[group]:#x}, expected {at:#x}")
            if rank == self.count:
                break
            ids, (count, at) = [], self.varint(records, at, end, start, 18)
            ids_len = None
            if self.id_kind == TEXT_IDS and count > 1:
                ids_len, at = self.varint(records, at, end, start, 18)
            first = at
            while len(ids) < count:
                id_len, id_at = self.id_len, at
                if self.id_kind == TEXT_IDS:
                    id_len, at = self.varint(records, at, end, start, 18)
                    self.need(1 <= id_len <= 65535, 19, start + id_at, f"id of {id_len} bytes")
                self.need(id_len <= end - at, 18, start + id_at, "an id is cut short")
                text, at = records[at:at + id_len], at + id_len
                if self.id_kind == U64_IDS:
                    largest = max(largest, int.from_bytes(text, "little"))
                    text = b"%d" % int.from_bytes(text, "little")
                plain = not set("\0\r\n") & set(self.text(text, 19, start + id_at))
                self.need(plain, 19, start + id_at, "a text id has NUL, CR or LF")
                self.need(self.sketch_len <= end - at, 18, start + at, "a sketch is cut short")
                ids.append((text, records[at:at + self.sketch_len]))
                at += self.sketch_len
            self.need(ids_len in (None, at - first), 18, start + first,
                      f"ids of {at - first} bytes, the record says {ids_len}")
            all_ids.append(ids)
        self.need(at == end, 18, start + at, "bytes after the last record")
        total = sum(map(len, all_ids))
        self.need(total == self.id_count, 18, 32, f"{self.id_count} ids, found {total}")
        least = max(1, ceil(largest.bit_length(), 8))
        right = self.id_kind == TEXT_IDS or self.id_len == least
        self.need(right, 18, 41, f"ids of {self.id_len} bytes, expected {least}")
        return all_ids

    def verify(self):
        offset, length = self.directory[CHECKSUMS, 0]
        found, expected = sip_hash(self.data[offset:offset + length]), self.data[64:80]
        self.need(found == expected, 27, 64,
                  f"digest of the checksums {found.hex()}, expected {expected.hex()}")
        for (kind, table), (offset, length) in self.directory.items():
            if kind != CHECKSUMS:
                self.section(kind, table)
            rest = self.data[offset + length:offset + pages(length) * PAGE]
            self.need(not any(rest), 10, offset + length, f"after {NAMES[kind]}: bytes not zero")
        first = self.table(0)
        fingerprints = set(first)
        self.need(max(fingerprints, default=0) >> self.bits == 0, 31, 48,
                  f"a fingerprint has more than {self.bits} bits")
        hashes = (sip_hash(struct.pack("<Q", fingerprint)) for fingerprint in fingerprints)
        total = sum(int.from_bytes(each, "little") for each in hashes) % (1 << 128)
        self.need(total == int.from_bytes(self.data[48:64], "little"), 20, 48, "wrong set sum")
        for number in range(1, len(self.tables)):
            expected = sorted(self.keys(number, first))
            self.need(sorted(self.table(number)) == expected, 20,
                      SEGMENT_FIXED + DESCRIPTOR * number,
                      f"tables 0 and {number} hold different fingerprints")
        self.ids()


class Deletions(File):
    """The deletions of one segment: whole fingerprints by rank, and positions of ids by rank."""

    def __init__(self, path, segment):
        super().__init__(path)
        data, need = self.data, self.need
        self.check_start(b"\x89FPD\r\n\x1a\n", DELETION_FIXED + 4, 26)
        self.check_crc(len(data), 16)
        of, entries, deleted_count, self.id_count = struct.unpack_from("<16sQQQ", data, 16)
        need(of == segment.digest, 26, 16, f"of the segment with the digest {of.hex()}")
        self.deleted, self.positions, at, least = set(), {}, DELETION_FIXED, 0
        for _ in range(entries):
            rank, positions, at = self.entry(at, least)
            need(rank < segment.count, 26, at, f"rank {rank} of {segment.count}")
            least = rank + 1
            if positions:
                self.positions[rank] = positions
            else:
                self.deleted.add(rank)
        need(at == len(data) - 4, 26, at, "bytes after the last entry")
        need(len(self.deleted) == deleted_count, 26, 40,
             f"{len(self.deleted)} deleted fingerprints, expected {deleted_count}")
        self.facts = (deleted_count, self.id_count, sip_hash(data))

    def entry(self, at, least):
        end = len(self.data) - 4
        rank, at = self.varint(self.data, at, end, 0, 26)
        count, at = self.varint(self.data, at, end, 0, 26)
        positions, next_position = set(), 0
        for _ in range(count):
            position, at = self.varint(self.data, at, end, 0, 26)
            positions.add(next_position + position)
            next_position += position + 1
        return least + rank, positions, at

    def verify(self, segment):
        ids = segment.ids()
        for rank, positions in self.positions.items():
            there = len(ids[rank])
            self.need(max(positions) < there and len(positions) < there, 26, DELETION_FIXED,
                      f"positions of rank {rank}, which has {there} ids")
        count = sum(map(len, self.positions.values()))
        count += sum(len(ids[rank]) for rank in self.deleted)
        self.need(count == self.id_count, 26, 48, f"{count} deleted ids, expected {self.id_count}")


class Manifest(File):
    """The manifest and its segments."""

    def __init__(self, store):
        super().__init__(os.path.join(store, "MANIFEST"))
        data, need = self.data, self.need
        self.check_start(b"\x89FPM\r\n\x1a\n", MANIFEST_FIXED + 4, 22)
        count, self.generation, next_number = struct.unpack_from("<IQQ", data, 12)
        self.store_id = data[32:MANIFEST_FIXED]
        run_count = struct.unpack_from("<H", data, 10)[0]
        need(count <= 65536, 22, 12, f"{count} segments")
        label_at = MANIFEST_FIXED + MANIFEST_ENTRY * count
        need(label_at + 4 <= len(data), 22, 12, f"{count} segments in {len(data)} bytes")
        self.check_crc(len(data), 10)
        need(run_count <= 1024, 29, 10, f"{run_count} runs")
        need(max(self.generation, next_number) <= NUMBER_MAX, 22, 16, "a number above 2^62")
        need(any(self.store_id), 28, 32, "the store id is all zeros")
        self.entries, numbers = [], set()
        for at in range(MANIFEST_FIXED, label_at, MANIFEST_ENTRY):
            number, *facts, deletion = struct.unpack_from("<QQQQ", data, at)
            *deleted, segment_digest, deletion_digest, label_len, reserved = struct.unpack_from(
                "<QQ16s16sII", data, at + 32)
            need(reserved == 0, 5, at + 84, "reserved bytes are not zero")
            facts = (*facts, segment_digest)
            deleted = (*deleted, deletion_digest)
            need(deletion or deleted == (0, 0, bytes(16)), 25, at + 24, "deletions without a file")
            need(deleted[0] <= facts[1], 25, at + 32, f"{deleted[0]} deleted of {facts[1]}")
            for one in [number] + [deletion] * (deletion > 0):
                need(one < next_number, 22, at, f"file number {one}, next is {next_number}")
                need(one not in numbers, 22, at, f"file number {one} twice")
                numbers.add(one)
            label_end = label_at + label_len
            need(label_len <= 255 and label_end + 4 <= len(data), 24, at + 80, "label too long")
            label = self.text(data[label_at:label_end], 24, label_at)
            plain = all(c >= " " and not "\x7f" <= c <= "\x9f" for c in label)
            need(plain, 24, label_at, "the label has a control character")
            label_at = label_end
            path = os.path.join(store, f"segment-{number:016x}.fps")
            deletion = deletion and os.path.join(store, f"deletion-{deletion:016x}.fpd")
            self.entries.append((at, path, facts, deletion, deleted))
        self.runs = []
        for _ in range(run_count):
            name_at = label_at + 1
            need(name_at + 4 <= len(data), 29, label_at, "the name of a run is cut")
            label_at = name_at + data[name_at - 1]
            need(label_at + 4 <= len(data), 29, name_at - 1, "the name of a run is cut")
            name = self.text(data[name_at:label_at], 29, name_at)
            plain = all(c >= " " and not "\x7f" <= c <= "\x9f" for c in name)
            need(name and plain, 29, name_at, "the name of a run is empty or has a control character")
            need(name not in self.runs, 29, name_at, f"two runs have the name {name}")
            self.runs.append(name)
        need(label_at + 4 == len(data), 22, label_at, "bytes after the last name")

    def segments(self):
        segments = []
        for at, path, facts, deletion, deleted in self.entries:
            segment = Segment(path)
            found = (len(segment.data), segment.count, segment.digest)
            self.check_facts(at, 23, path, found, facts)
            if deletion:
                segment.deletions = Deletions(deletion, segment)
                self.check_facts(at + 24, 25, deletion, segment.deletions.facts, deleted)
            segments.append(segment)
            recipe, start = segment.section(RECIPE)
            segment.need(recipe == segments[0].section(RECIPE)[0], 21, start,
                         "not the recipe of the first segment")
        return segments

    def check_facts(self, at, rule, path, found, expected):
        """Compares two counts and the digest of a file with its manifest entry."""
        found, expected = ((one, other, digest.hex()) for one, other, digest in (found, expected))
        self.need(found == expected, rule, at, f"{path} has {found}, its entry {expected}")


def pages(length):
    return ceil(length, PAGE)


def ceil(a, b):
    return -(-a // b)


def natural_bits(mask):
    """The inverse of the permutation by `mask`, by a table lookup for each byte."""
    order = [bit for bit in range(64) if not mask >> bit & 1]
    order += [bit for bit in range(64) if mask >> bit & 1]
    tables = []
    for low in range(0, 64, 8):
        table = [0]
        for bit in order[low:low + 8]:
            table += [other | 1 << bit for other in table]
        tables.append(table)
    return lambda value: sum(map(list.__getitem__, tables, value.to_bytes(8, "little")))


def permuted_bits(mask):
    """The permutation by `mask`."""
    order = [bit for bit in range(64) if not mask >> bit & 1]
    order += [bit for bit in range(64) if mask >> bit & 1]
    return lambda value: sum((value >> bit & 1) << at for at, bit in enumerate(order))


def column(bit, syndrome_bits):
    """The contribution of a bit to a syndrome (4.6)."""
    def product(a, b):
        total = 0
        for shift in range(5):
            total ^= (b >> shift & 1) * a << shift
        for shift in range(8, 4, -1):
            total ^= (total >> shift & 1) * 0b100101 << shift - 5
        return total

    square = product(bit, bit)
    cube = product(square, bit)
    fifth = product(cube, square)
    seventh = product(fifth, square)
    return (1 | bit << 1 | cube << 6 | fifth << 11 | seventh << 16) & (1 << syndrome_bits) - 1


def sip_hash(data):
    """The hash of the spec: SipHash-1-3 with 128-bit output and the zero key, as 16 bytes."""
    ones = (1 << 64) - 1

    def rounds(times, a, b, c, d):
        for _ in range(times):
            a = a + b & ones
            c = c + d & ones
            b = (b << 13 | b >> 51) & ones ^ a
            d = (d << 16 | d >> 48) & ones ^ c
            a = (a << 32 | a >> 32) & ones
            c = c + b & ones
            a = a + d & ones
            b = (b << 17 | b >> 47) & ones ^ c
            d = (d << 21 | d >> 43) & ones ^ a
            c = (c << 32 | c >> 32) & ones
        return a, b, c, d

    # The last byte of the last word is the length of the data, modulo 256.
    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
    # The constants 0xee (twice) and 0xdd distinguish the 128-bit output from the 64-bit output.
    a, b = 0x736f6d6570736575, 0x646f72616e646f6d ^ 0xee
    c, d = 0x6c7967656e657261, 0x7465646279746573
    for word, in struct.iter_unpack("<Q", padded):
        a, b, c, d = rounds(1, a, b, c, d ^ word)
        a ^= word
    a, b, c, d = rounds(3, a, b, c ^ 0xee, d)
    first_half = a ^ b ^ c ^ d
    a, b, c, d = rounds(3, a, b ^ 0xdd, c, d)
    return struct.pack("<QQ", first_half, a ^ b ^ c ^ d)


def open_store(store):
    """Opens all segments. Starts again if a file is missing and the manifest has changed (6.1)."""
    manifest = Manifest(store)
    while True:
        try:
            return manifest.segments()
        except FileNotFoundError as error:
            before, manifest = manifest.data, Manifest(store)
            if manifest.data == before:
                rule = 23 if error.filename.endswith(".fps") else 25
                words = f"{error.filename} is missing (R-{rule})"
                raise Fault(f"{manifest.path}: {words}") from None


def union(store):
    """Each fingerprint once, ascending, with its ids from all segments: in segment order, each
    once."""
    ids_of = {}
    for segment in open_store(store):
        deletions = segment.deletions
        for rank, (fingerprint, ids) in enumerate(zip(segment.table(0), segment.ids())):
            if deletions and rank in deletions.deleted:
                continue
            deleted = deletions.positions.get(rank, ()) if deletions else ()
            live = [text for position, text in enumerate(ids) if position not in deleted]
            ids_of.setdefault(fingerprint, {}).update(dict.fromkeys(live))
    return [(fingerprint, list(ids_of[fingerprint])) for fingerprint in sorted(ids_of)]


def digits_of(store):
    """The number of hex digits of each fingerprint."""
    return min((segment.bits // 4 for segment in open_store(store)), default=16)


def dump(store):
    digits = digits_of(store)
    for fingerprint, ids in union(store):
        for end in [b"\t" + text for text in ids] or [b""]:
            sys.stdout.buffer.write(b"%0*x%s\n" % (digits, fingerprint, end))
    return 0


def sketches(store):
    """Prints the sketch of each id, in no particular order; deleted ids are included."""
    for segment in open_store(store):
        for ids in segment.ids_and_sketches():
            for text, sketch in ids:
                sys.stdout.buffer.write(b"%s\t%s\n" % (text, sketch.hex().encode()))
    return 0


def query(store, text, distance):
    digits = digits_of(store)
    needle, limit = int(text, 16), int(distance)
    if not (0 <= needle < 1 << 4 * digits and 0 <= limit <= 64):
        raise ValueError(f"'{text}' or '{distance}' is not a fingerprint or not 0 to 64 bits")
    found = [((x ^ needle).bit_count(), x, ids) for x, ids in union(store)]
    found = sorted(match for match in found if match[0] <= limit)
    for bits, match, ids in found:
        for text in ids or [b""]:
            row = digits, needle, digits, match, bits, text
            sys.stdout.buffer.write(b"%0*x\t%0*x\t%d\t%s\n" % row)
    return 0 if found else 1


def verify(store):
    for segment in open_store(store):
        segment.verify()
        if segment.deletions:
            segment.deletions.verify(segment)
    print("sound")
    return 0


def main(words):
    act = {("dump", 2): dump, ("verify", 2): verify, ("query", 4): query,
           ("sketches", 2): sketches}.get((words[0] if words else "", len(words)))
    if act is None:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        status = act(*words[1:])
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The interpreter flushes once more at exit, and that flush must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (Fault, OSError, ValueError) as error:
        print(f"fpstore_reader: {error}", file=sys.stderr)
        return 1 if act is verify and isinstance(error, Fault) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
