"""MCAP files whose records, chunks or index are not what they say."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path

from benchmarks.audit.bags.bag_compression import claiming, zeros_compressed, zstd
from benchmarks.audit.bags.small_bags import (
    MCAP_END,
    START,
    TOPICS,
    Make,
    Message,
    mcap_chunk,
    mcap_head,
    mcap_message,
    record,
    recording,
    text,
)


def by_record() -> dict[str, Make]:
    """Return makers of MCAP files by what is wrong with their records."""
    head = mcap_head(TOPICS)
    records = b"".join(map(mcap_message, recording()))

    def made(*parts: bytes) -> Make:
        def make(folder: Path) -> Path:
            path = folder / "a.mcap"
            path.write_bytes(b"".join(parts))
            return path

        return make

    tiny = mcap_message(Message(0, START, b"")) * 7_000_000
    return {
        "a whole chunk": made(head, mcap_chunk(records), MCAP_END),
        "a chunk of 2 GB undeclared": made(
            head, mcap_chunk(zeros_compressed(2**31), "zstd", 2**31), MCAP_END
        ),
        "a chunk of 16 GB declared": made(
            head, mcap_chunk(claiming(2**34), "zstd", 2**34), MCAP_END
        ),
        "a chunk that lies of its size": made(
            head, mcap_chunk(zeros_compressed(2**31), "zstd", 100), MCAP_END
        ),
        "a chunk of two frames": made(
            head, mcap_chunk(zstd(b"\x05") + zeros_compressed(2**31), "zstd", 1), MCAP_END
        ),
        "a chunk of 2^63 bytes": made(head, mcap_chunk(records, "", 2**63), MCAP_END),
        "a chunk of unknown compression": made(head, mcap_chunk(records, "brotli"), MCAP_END),
        "a chunk of tiny messages": made(head, mcap_chunk(zstd(tiny), "zstd", len(tiny)), MCAP_END),
        "a chunk in a chunk": made(head, mcap_chunk(mcap_chunk(records)), MCAP_END),
        "a record of 2^63 bytes": made(head, record(5, b"x", 2**63), MCAP_END),
        "a record of 4 GB": made(head, record(5, b"x", 2**32), MCAP_END),
        "a message of 3 bytes": made(head, record(5, b"xxx"), records, MCAP_END),
        "records of no length": made(head, record(99, b"") * 100_000, records, MCAP_END),
        "a text of 4 GB": made(head, record(4, struct.pack("<HHI", 9, 9, 2**32 - 1)), MCAP_END),
        "a name that is no UTF-8": made(
            head, record(4, struct.pack("<HH", 9, 1) + text(b"\xff\xfe")), records, MCAP_END
        ),
        "a footer that points behind the end": made(
            head,
            records,
            record(15, bytes(4)),
            record(2, struct.pack("<QQI", 2**62, 0, 0)),
            MCAP_END[-8:],
        ),
        "a footer that points at itself": made(
            head,
            records,
            record(15, bytes(4)),
            record(2, struct.pack("<QQI", len(head + records) + 13, 0, 0)),
            MCAP_END[-8:],
        ),
        "overlapping chunks in an index": partial(_overlapping, head=head),
    }


def _overlapping(folder: Path, head: bytes) -> Path:
    """Write an index of a hundred chunks of the same time, each of 200 MB of zeros."""
    size = 200 * 2**20
    chunk = mcap_chunk(zeros_compressed(size), "zstd", size)
    chunks, index = b"", b""
    for _ in range(100):
        offset = len(head) + len(chunks)
        chunks += chunk
        content = struct.pack("<QQQQ", START, 2 * START, offset, len(chunk))
        content += struct.pack("<IHQ", 10, 1, offset + len(chunk)) + struct.pack("<Q", 0)
        content += text("zstd") + struct.pack("<QQ", len(chunk) - 9 - 32 - 4 - 8, size)
        index += record(8, content)
    summary = len(head) + len(chunks) + 13
    statistics = struct.pack("<QHIIIIQQI", 10**6, 2, 2, 0, 0, 100, START, 2 * START, 0)
    path = folder / "a.mcap"
    path.write_bytes(
        head
        + chunks
        + record(15, bytes(4))
        + head[head.index(b"\x03") :][:0]
        + _repeated(head)
        + index
        + record(11, statistics)
        + record(2, struct.pack("<QQI", summary, 0, 0))
        + MCAP_END[-8:]
    )
    return path


def _repeated(head: bytes) -> bytes:
    """Return the schemas and channels of a head, as a summary repeats them."""
    (length,) = struct.unpack_from("<Q", head, 9)
    return head[17 + length :]
