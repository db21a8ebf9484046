"""Each packet of a capture: taken apart, lengths and checksums forgotten, and put together again.

The octets must be those of the capture. Prints the layers and the addresses of each.
"""
import sys
from scapy.all import Dot1AD, Dot1Q, Ether, ICMP, IP, IPv6, Raw, TCP, UDP, raw, rdpcap
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.layers.inet6 import ICMPv6EchoRequest
from scapy.packet import bind_layers

FORGOTTEN = {IP: ["len", "chksum"], IPv6: ["plen"], UDP: ["len", "chksum"], TCP: ["chksum"],
             ICMP: ["chksum"], ICMPv6EchoRequest: ["cksum"]}

for number, packet in enumerate(rdpcap(sys.argv[1])):
    octets = raw(packet)
    again = Ether(octets)
    names = [layer.__name__ for layer in again.layers()]
    for layer, fields in FORGOTTEN.items():
        found = again.getlayer(layer)
        for field in fields if found is not None else []:
            delattr(found, field)
    built = raw(again)
    if built != octets:
        sys.exit(f"packet {number}: {names}\n{octets.hex()}\n{built.hex()}")
    print(" ".join(name for name in names if name not in ("Raw", "Padding")))
