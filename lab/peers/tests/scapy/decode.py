"""Reads a pcap file of IPv4 packets with scapy: the checksum of each is made anew and compared,
and the types of its chunks are printed, a line for each packet. scapy knows the chunks of RFC 9260,
4895 and 5061; the rest it leaves as octets, of which only types and lengths are read here."""
import sys

from scapy.layers.inet import IP
from scapy.layers.sctp import SCTP, crc32c
from scapy.packet import Padding, Raw
from scapy.utils import RawPcapReader


def rest(octets):
    """Types of chunks from one on that scapy does not know; what is left of a padding is none."""
    if any(octets) or len(octets) > 3:
        length = int.from_bytes(octets[2:4], "big")
        if length < 4 or length > len(octets):
            raise ValueError(f"chunk type {octets[0]}: length {length} of {len(octets)}")
        yield octets[0]
        following = octets[(length + 3) & ~3:]
        if following:
            # As behind a common header, so that scapy goes on with what it knows.
            yield from types(SCTP(bytes(12) + following))


def types(packet):
    layer = packet.payload
    while layer and not isinstance(layer, (Raw, Padding)):
        yield layer.type
        layer = layer.payload
    if layer:
        yield from rest(bytes(layer))


for octets, _ in RawPcapReader(sys.argv[1]):
    packet = IP(octets)[SCTP]
    whole = octets[20:]
    made = crc32c(whole[:8] + bytes(4) + whole[12:])
    if made != packet.chksum:
        sys.exit(f"checksum {packet.chksum:#x}, by scapy {made:#x}: {octets.hex()}")
    print(",".join(str(it) for it in types(packet)))
