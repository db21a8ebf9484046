"""Packets as they should not be, made by scapy. Prints a line for each: a name, what RFC 9260 wants
done, and the octets from the common header on.

  malformed.py TAG SOURCE-PORT DESTINATION-PORT TSN FUZZED

What is done: `nothing`, or the types of the chunks of the answer (`6`: an ABORT), or `any`."""
import random
import struct
import sys

from scapy.layers import sctp
from scapy.layers.sctp import (
    SCTP, SCTPChunkAbort, SCTPChunkAddressConf, SCTPChunkAuthentication, SCTPChunkCookieAck,
    SCTPChunkCookieEcho, SCTPChunkData, SCTPChunkError, SCTPChunkHeartbeatAck,
    SCTPChunkHeartbeatReq, SCTPChunkInit, SCTPChunkInitAck, SCTPChunkSACK, SCTPChunkShutdown,
    SCTPChunkShutdownAck, SCTPChunkShutdownComplete)
from scapy.packet import Raw, fuzz

tag, source, destination, tsn, fuzzed = (int(it) for it in sys.argv[1:])


def header(tag=tag):
    return SCTP(sport=source, dport=destination, tag=tag)


def blue(tag):
    """A header of no association."""
    return SCTP(sport=source + 7, dport=destination, tag=tag)


def chunk(kind, content=b"", flags=0, length=None):
    length = len(content) + 4 if length is None else length
    padded = content + bytes(-len(content) % 4)
    return Raw(struct.pack(">BBH", kind, flags, length) + padded)


def data(**fields):
    fields = {"tsn": tsn, "beginning": 1, "ending": 1, "data": b"user", **fields}
    return SCTPChunkData(**fields)


def tlv(kind, content=b"", length=None):
    length = len(content) + 4 if length is None else length
    return struct.pack(">HH", kind, length) + content + bytes(-len(content) % 4)


def init(parameters=b"", tag=7, rwnd=65536, out=1, into=1, kind=1):
    return chunk(kind, struct.pack(">IIHHI", tag, rwnd, out, into, 1) + parameters)


def sack(cumulative, gaps=(), duplicates=(), counts=None):
    counts = counts or (len(gaps), len(duplicates))
    fields = struct.pack(">IIHH", cumulative & 0xFFFFFFFF, 65536, *counts)
    pairs = b"".join(struct.pack(">HH", *gap) for gap in gaps)
    return chunk(3, fields + pairs + b"".join(struct.pack(">I", it) for it in duplicates))


whole = bytes(header() / data())
wrong = struct.unpack(">I", whole[8:12])[0] ^ 1
ABORT, ERROR, SHUTDOWN_COMPLETE = "6", "9", "14"
# Packets of the association.
ROWS = [
    ("an empty packet", "nothing", header()),
    ("a checksum that is wrong", "nothing",
     SCTP(sport=source, dport=destination, tag=tag, chksum=wrong) / data()),
    ("a tag that is wrong", "nothing", header(tag ^ 1) / data()),
    ("an ABORT with a wrong tag", "nothing", header(tag ^ 1) / SCTPChunkAbort()),
    ("a chunk of length 0", "any", header() / chunk(0, length=0)),
    ("a chunk of length 3", "any", header() / chunk(0, length=3)),
    ("a chunk that is longer than the packet", "any", header() / chunk(0, b"1234", length=400)),
    ("a DATA without its fields", "any", header() / chunk(0, b"1234")),
    ("a DATA without user data", ABORT, header() / chunk(0, struct.pack(">IHHI", tsn, 0, 0, 0), 3)),
    ("a stream that there is not", "any", header() / data(stream_id=60000)),
    ("a fragment without a beginning and one that begins", "any",
     header() / data(beginning=0, ending=1) / data(tsn=tsn + 1, beginning=0, ending=0)),
    ("an INIT ACK that nobody asked for", "nothing", header() / init(kind=2)),
    ("an INIT beside another chunk", "any", header() / init() / data()),
    ("an INIT with a tag in its header", "any", header() / init()),
    ("an acknowledgement of what was never sent", "any", header() / sack(0x7FFFFFFF)),
    ("an acknowledgement of long ago", "nothing", header() / sack(0)),
    ("a SACK with fewer gaps than it says", "any", header() / sack(0, counts=(9, 9))),
    ("a SACK with gaps the wrong way round", "any", header() / sack(0, gaps=[(9, 3), (2, 1)])),
    ("a SACK without its fields", "any", header() / chunk(3, b"12")),
    ("a HEARTBEAT without information", "any", header() / chunk(4)),
    ("a HEARTBEAT ACK of nothing that was sent", "nothing", header() / SCTPChunkHeartbeatAck()),
    ("a HEARTBEAT ACK with forged information", "nothing", header() / chunk(5, tlv(1, bytes(40)))),
    ("a cookie that is none", "nothing",
     header() / SCTPChunkCookieEcho(cookie=b"no cookie at all")),
    ("a COOKIE ACK", "nothing", header() / SCTPChunkCookieAck()),
    ("an ERROR with half a cause", "nothing", header() / chunk(9, b"\0\x01")),
    ("an ERROR with a cause of length 0", "nothing", header() / chunk(9, tlv(3, length=0))),
    ("a SHUTDOWN COMPLETE too early", "nothing", header() / SCTPChunkShutdownComplete()),
    ("a SHUTDOWN ACK too early", "any", header() / SCTPChunkShutdownAck()),
    ("a SHUTDOWN of what was never sent", "any",
     header() / SCTPChunkShutdown(cumul_tsn_ack=0x7FFFFFFF)),
    ("an AUTH that nobody agreed on", "any", header() / SCTPChunkAuthentication(HMAC=b"x" * 20)),
    ("an ASCONF that is not authenticated", "any", header() / SCTPChunkAddressConf()),
    ("an ASCONF ACK of nothing", "any", header() / chunk(0x80, b"\0\0\0\1")),
    ("an unknown chunk, highest bits 00", "nothing", header() / chunk(0x3E, b"1234") / data()),
    ("an unknown chunk, highest bits 01", ERROR, header() / chunk(0x7E, b"1234") / data()),
    ("an unknown chunk, highest bits 10", "any", header() / chunk(0xBE, b"1234") / data()),
    ("an unknown chunk, highest bits 11", "any", header() / chunk(0xFE, b"1234") / data()),
    ("a FORWARD-TSN far ahead", "any", header() / chunk(0xC0, b"\x7f\xff\xff\xff")),
    ("a FORWARD-TSN with half a stream", "any", header() / chunk(0xC0, struct.pack(">IH", tsn, 1))),
    ("a RE-CONFIG with an empty parameter", "any", header() / chunk(0x82, tlv(13, length=0))),
    ("a RE-CONFIG of streams that there are not", "any",
     header() / chunk(0x82, tlv(13, struct.pack(">IIIH", tsn, 0, tsn - 1, 60000)))),
    ("a RE-CONFIG with a number that is wrong", "any",
     header() / chunk(0x82, tlv(13, struct.pack(">III", tsn + 999, 0, tsn - 1)))),
    ("an I-DATA that nobody agreed on", "any", header() / chunk(0x40, bytes(16) + b"user", 3)),
    # Packets out of the blue (RFC 9260 section 8.4), and INITs (section 5.1).
    ("blue: DATA", ABORT, blue(99) / data()),
    ("blue: an ABORT", "nothing", blue(99) / SCTPChunkAbort()),
    ("blue: a SHUTDOWN ACK", SHUTDOWN_COMPLETE, blue(99) / SCTPChunkShutdownAck()),
    ("blue: a SHUTDOWN COMPLETE", "nothing", blue(99) / SCTPChunkShutdownComplete()),
    ("blue: a COOKIE ACK", "nothing", blue(99) / SCTPChunkCookieAck()),
    ("blue: an ERROR, stale cookie", "nothing", blue(99) / chunk(9, tlv(3, bytes(4)))),
    ("blue: a HEARTBEAT", ABORT, blue(99) / chunk(4, tlv(1, b"1234"))),
    ("blue: a SACK", ABORT, blue(99) / sack(0)),
    ("blue: an INIT", "2", blue(0) / init()),
    ("blue: an INIT with a tag in its header", "any", blue(99) / init()),
    ("blue: an INIT that calls itself 0", "any", blue(0) / init(tag=0)),
    ("blue: an INIT without streams", ABORT, blue(0) / init(out=0)),
    ("blue: an INIT that takes no streams", ABORT, blue(0) / init(into=0)),
    ("blue: an INIT with a small window", "any", blue(0) / init(rwnd=0)),
    ("blue: an INIT with half a parameter", "any", blue(0) / init(b"\0\x05\0")),
    ("blue: an INIT with a parameter of length 0", "any", blue(0) / init(tlv(5, length=0))),
    ("blue: an INIT with a host name", "any", blue(0) / init(tlv(11, b"host.example\0"))),
    ("blue: an INIT with an unknown parameter, 00", "2", blue(0) / init(tlv(0x3FF0, b"1234"))),
    ("blue: an INIT with an unknown parameter, 01", "2", blue(0) / init(tlv(0x7FF0, b"1234"))),
    ("blue: an INIT with an unknown parameter, 10", "2", blue(0) / init(tlv(0xBFF0, b"1234"))),
    ("blue: an INIT with an unknown parameter, 11", "2", blue(0) / init(tlv(0xFFF0, b"1234"))),
    ("blue: a cookie that is none", "any", blue(99) / SCTPChunkCookieEcho(cookie=b"no cookie")),
    ("blue: an INIT ACK", "any", blue(99) / init(kind=2)),
]

for name, wanted, packet in ROWS:
    print(f"{name}|{wanted}|{bytes(packet).hex()}")

KINDS = [SCTPChunkAbort, SCTPChunkAddressConf, SCTPChunkAuthentication, SCTPChunkCookieAck,
         SCTPChunkCookieEcho, SCTPChunkData, SCTPChunkError, SCTPChunkHeartbeatAck,
         SCTPChunkHeartbeatReq, SCTPChunkInit, SCTPChunkInitAck, SCTPChunkSACK, SCTPChunkShutdown,
         SCTPChunkShutdownAck, SCTPChunkShutdownComplete]
for number in range(fuzzed):
    random.seed(number)
    packet = header(0 if number % 5 == 0 else tag)
    for _ in range(random.randint(1, 3)):
        packet = packet / fuzz(random.choice(KINDS)())
    try:
        octets = bytes(packet)
    except (struct.error, TypeError, OverflowError, ValueError):
        continue  # scapy cannot write every value that it draws
    if random.random() < 0.3:
        octets = bytearray(octets[:random.randint(12, len(octets))])
        octets[8:12] = bytes(4)
        octets[8:12] = struct.pack(">I", sctp.crc32c(bytes(octets)))
    print(f"fuzzed {number}|any|{bytes(octets).hex()}")
