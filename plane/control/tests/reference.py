#!/usr/bin/env python3
"""A forwarder written a second time, with scapy: a router with random interfaces, tables and
packets by seed. Prints JSON: the programs, and for each packet what must become of it.

    reference.py SEED PACKETS

Each packet: {"port", "frame", "left"}: alternatives of [[[port, frame], ...], [packet for the host]].
"""
import ipaddress
import json
import random
import sys

from scapy.config import conf

conf.verb = 0
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPv6,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

# One alternative: nothing is sent, nothing goes up.
NOTHING = [([], [])]
# Who sends the frames.
NEAR = bytes.fromhex("020000000909")


def mac_of(text):
    return [int(part, 16) for part in text.split(":")]


class World:
    """The configuration, and what it means."""

    def __init__(self, rng):
        self.rng = rng
        self.programs = []
        self.ports = rng.randint(2, 4)
        self.links = {}
        self.neighbours = {}
        self.hops = {}
        self.routes = {}
        self.vrfs = [0] + rng.sample(range(1, 1000), rng.randint(0, 2))
        self.build()

    def say(self, **program):
        self.programs.append(program)

    def build(self):
        for vrf in self.vrfs:
            self.say(Vrf={"vrf": vrf})
            self.routes[vrf] = {4: {}, 6: {}}
        index = 0
        for port in range(self.ports):
            mac = "02:00:00:00:00:%02x" % (port + 1)
            mtu = self.rng.choice([1500, 1500, 1300])
            self.say(Port={"port": port, "name": "p%d" % port, "mac": mac_of(mac), "mtu": mtu,
                           "up": True})
            tags = [(None, None)]
            outer = self.rng.randint(1, 4094)
            if self.rng.random() < 0.6:
                tags.append((outer, None))
            if self.rng.random() < 0.4:
                tags.append((outer % 4094 + 1, self.rng.randint(1, 4094)))
            for outer, inner in tags:
                index += 1
                self.interface(index, port, mac, mtu, outer, inner)
        self.make_hops()
        self.make_routes()

    def interface(self, index, port, mac, mtu, outer, inner):
        vrf = self.rng.choice(self.vrfs)
        own_mtu = self.rng.choice([0, 0, 1280, 900]) if self.rng.random() < 0.3 else 0
        self.say(Interface={"index": index, "port": port, "outer": outer, "inner": inner,
                            "mode": {"Routed": {"vrf": vrf}}, "mtu": own_mtu})
        link = {"index": index, "port": port, "mac": mac, "outer": outer, "inner": inner,
                "vrf": vrf, "mtu": min(own_mtu, mtu) if own_mtu else mtu}
        link["own"] = {4: "10.%d.%d.1" % (port, index), 6: "2001:db8:%x::1" % index}
        self.links[index] = link
        for version, length in ((4, 24), (6, 64)):
            own = link["own"][version]
            self.say(Address={"interface": index, "address": own, "length": length})
            full = 32 if version == 4 else 128
            table = self.routes[vrf][version]
            table[ipaddress.ip_network("%s/%d" % (own, full))] = ("local",)
            subnet = ipaddress.ip_network("%s/%d" % (own, length), strict=False)
            table[subnet] = ("glean",)
            if version == 4:
                last = ipaddress.ip_network("%s/32" % subnet.broadcast_address)
                table[last] = ("broadcast", index)
            for host in (2, 3):
                address = own[:-1] + str(host)
                near = "02:00:00:00:%02x:%02x" % (index, host)
                self.say(Neighbour={"interface": index, "address": address, "mac": mac_of(near)})
                self.neighbours[(index, address)] = near
                table[ipaddress.ip_network("%s/%d" % (address, full))] = ("via", index, address)

    def make_hops(self):
        number = 0
        for (index, address) in list(self.neighbours):
            number += 1
            self.say(Hop={"id": number, "hop": {"Via": {"interface": index, "gateway": address}}})
            self.hops[number] = ("via", index, address)
        for reason in ("Blackhole", "Unreachable", "Prohibited"):
            number += 1
            self.say(Hop={"id": number, "hop": {"Drop": {"reason": reason}}})
            self.hops[number] = ("drop", reason)
        number += 1
        members = self.rng.sample(range(1, number - 3), 2)
        self.say(Hop={"id": number, "hop": {"Group": {"members": [[m, 1] for m in members]}}})
        self.hops[number] = ("group", [self.hops[m] for m in members])
        for vrf in self.vrfs[1:]:
            number += 1
            self.say(Hop={"id": number, "hop": {"Vrf": {"vrf": 0}}})
            self.hops[number] = ("vrf", 0)

    def make_routes(self):
        for vrf in self.vrfs:
            for version, bits in ((4, 32), (6, 128)):
                said = []
                for _ in range(self.rng.randint(3, 30)):
                    hop = self.rng.choice(list(self.hops))
                    if self.hops[hop] == ("vrf", vrf):
                        continue
                    if version == 4:
                        first = self.rng.choice([10, 172, 192, 198, 203])
                        address = first << 24 | self.rng.getrandbits(24)
                        length = self.rng.randint(8, 32)
                    else:
                        address = 0x20010DB8 << 96 | self.rng.getrandbits(96)
                        length = self.rng.randint(32, 128)
                    address = address >> (bits - length) << (bits - length)
                    network = ipaddress.ip_network((address, length))
                    # Own routes come first.
                    self.routes[vrf][version].setdefault(network, self.hops[hop])
                    if self.routes[vrf][version][network] == self.hops[hop]:
                        said.append([str(network.network_address), length, hop])
                if said:
                    kind = "Routes%d" % version
                    self.programs.append({kind: {"vrf": vrf, "routes": said}})

    def lookup(self, vrf, version, address):
        address = ipaddress.ip_address(address)
        table = self.routes[vrf][version]
        best = None
        for network, hop in table.items():
            if address in network and (best is None or network.prefixlen > best[0]):
                best = (network.prefixlen, hop)
        return best[1] if best else ("none",)


def header(link, near):
    """The Ethernet header of an interface's frames, but for the type behind its tags."""
    frame = Ether(dst=near, src=link["mac"])
    if link["inner"] is not None:
        frame = frame / Dot1AD(vlan=link["outer"]) / Dot1Q(vlan=link["inner"])
    elif link["outer"] is not None:
        frame = frame / Dot1Q(vlan=link["outer"])
    return bytes(frame / Raw(b""))[:-2]


def frame_out(world, index, near, packet):
    """The packet as it leaves by an interface."""
    link = world.links[index]
    kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
    return [link["port"], (header(link, near) + kind + packet).hex()]


def tags(outer, inner, marks=0):
    """The tags of a pair of VLANs, of one or of none; the outer one is marked."""
    if outer is None:
        return b""
    first = (marks | outer).to_bytes(2, "big")
    if inner is None:
        return b"\x81\x00" + first
    return b"\x88\xa8" + first + b"\x81\x00" + inner.to_bytes(2, "big")


class Router:
    """What becomes of a packet: alternatives, each of frames and of packets for the host."""

    def __init__(self, world):
        self.world = world

    def take(self, port, frame):
        link, packet, kind, group = self.classify(port, frame)
        if link is None:
            return NOTHING
        if kind == 0x0800:
            return self.take4(link, packet, group)
        if kind == 0x86DD:
            return self.take6(link, packet, group)
        if kind == 0x0806:
            return self.take_arp(link, packet)
        return NOTHING

    def classify(self, port, frame):
        kind, at, tags = int.from_bytes(frame[12:14], "big"), 14, []
        while kind in (0x8100, 0x88A8) and len(tags) < 2 and len(frame) >= at + 4:
            tags.append(int.from_bytes(frame[at:at + 2], "big") & 0xFFF)
            kind = int.from_bytes(frame[at + 2:at + 4], "big")
            at += 4
        wanted = (tags + [None, None])[:2]
        for link in self.world.links.values():
            if link["port"] == port and [link["outer"], link["inner"]] == wanted:
                to = frame[:6]
                ours = to == bytes(mac_of(link["mac"]))
                if not ours and not to[0] & 1:
                    return None, None, None, None
                return link, frame[at:], kind, not ours
        return None, None, None, None

    def take_arp(self, link, packet):
        if len(packet) < 28:
            return NOTHING
        ask = ARP(packet)
        if ask.op != 1 or ask.pdst != link["own"][4]:
            return NOTHING
        answer = ARP(op=2, hwsrc=link["mac"], psrc=ask.pdst, hwdst=ask.hwsrc, pdst=ask.psrc)
        port, frame = frame_out(self.world, link["index"], ask.hwsrc, b"\x45" + bytes(answer)[1:])
        frame = bytes.fromhex(frame)
        body = len(bytes(answer))
        return [([[port, (frame[:-body - 2] + b"\x08\x06" + bytes(answer)).hex()]], [])]

    # IPv4

    def take4(self, link, packet, group):
        if len(packet) < 20 or packet[0] >> 4 != 4:
            return NOTHING
        octets, total = (packet[0] & 15) * 4, int.from_bytes(packet[2:4], "big")
        if octets < 20 or total < octets or total > len(packet):
            return NOTHING
        packet = packet[:total]
        header = IP(packet[:octets])
        rebuilt = header.copy()
        del rebuilt.chksum
        if IP(bytes(rebuilt)).chksum != header.chksum:
            return NOTHING
        source, to = packet[12], ipaddress.ip_address(header.dst)
        everyone = header.dst == "255.255.255.255"
        bad = source in (0, 127) or source >= 224
        if bad and not (header.src == "0.0.0.0" and everyone):
            return NOTHING
        if header.ttl == 0:
            return NOTHING
        if everyone or header.dst.startswith("224.0.0."):
            return self.local4(link, link["vrf"], packet, True)
        if to.is_multicast or packet[16] in (0, 127) or packet[16] >= 224:
            return NOTHING
        return self.route4(link, link["vrf"], packet, group, False)

    def route4(self, link, vrf, packet, group, own, depth=0):
        hop = self.world.lookup(vrf, 4, IP(packet).dst)
        return self.follow4(link, vrf, packet, group, own, hop, depth)

    def follow4(self, link, vrf, packet, group, own, hop, depth):
        header = IP(packet)
        if hop[0] == "group":
            ways = [self.follow4(link, vrf, packet, group, own, one, depth) for one in hop[1]]
            return sum(ways, [])
        if hop[0] == "vrf":
            if depth > 4:
                return NOTHING
            return self.route4(link, hop[1], packet, group, own, depth + 1)
        if hop[0] == "local":
            return self.local4(link, vrf, packet, group)
        if hop[0] == "broadcast":
            if link["index"] == hop[1] and not own:
                return self.local4(link, vrf, packet, True)
            return NOTHING
        if group:
            return NOTHING
        if hop[0] == "none":
            return self.error4(link, vrf, packet, 3, 0, own)
        if hop[0] == "drop":
            code = {"Blackhole": None, "Unreachable": 1, "Prohibited": 13}[hop[1]]
            return NOTHING if code is None else self.error4(link, vrf, packet, 3, code, own)
        if not own and header.ttl <= 1:
            return self.error4(link, vrf, packet, 11, 0, own)
        if hop[0] == "glean":
            return NOTHING
        out = self.world.links[hop[1]]
        near = self.world.neighbours[(hop[1], hop[2])]
        if len(packet) > out["mtu"] and header.flags.DF:
            return self.error4(link, vrf, packet, 3, 4, own, out["mtu"])
        aged = bytearray(packet)
        if not own:
            aged[8] -= 1
        parts = self.cut(bytes(aged), out["mtu"])
        return [([frame_out(self.world, hop[1], near, part) for part in parts], [])]

    def cut(self, packet, mtu):
        """Fragments, with checksums made anew."""
        octets = (packet[0] & 15) * 4
        if len(packet) <= mtu:
            header = IP(packet[:octets])
            del header.chksum
            header.len = len(packet)
            return [bytes(header) + packet[octets:]]
        header, payload, parts = IP(packet[:octets]), packet[octets:], []
        room, at = (mtu - octets) // 8 * 8, 0
        while at < len(payload):
            part = header.copy()
            if at > 0 and octets > 20:
                # None of the options here is copied into later fragments.
                part.options = []
                part.ihl = 5
                room = (mtu - 20) // 8 * 8
            body = payload[at:at + room]
            last = at + len(body) == len(payload)
            part.flags = (int(header.flags) & 1) if last else int(header.flags) | 1
            part.flags = int(part.flags) & 1
            part.frag = header.frag + at // 8
            part.len = part.ihl * 4 + len(body)
            del part.chksum
            parts.append(bytes(part) + body)
            at += room
        return parts

    def error4(self, link, vrf, packet, kind, code, own, mtu=0):
        header = IP(packet)
        inner = packet[(packet[0] & 15) * 4:]
        question = header.proto == 1 and inner and inner[0] in (0, 8, 9, 10, 13, 14, 15, 16, 17, 18)
        if own or header.frag or (header.proto == 1 and not question):
            return NOTHING
        error = IP(src=link["own"][4], dst=header.src, tos=0xC0, ttl=64, id=0, flags="DF")
        icmp = ICMP(type=kind, code=code)
        if code == 4 and kind == 3:
            icmp.nexthopmtu = mtu
        error = bytes(error / icmp / Raw(packet[:548]))
        return self.route4(link, vrf, error, False, True)

    def local4(self, link, vrf, packet, group):
        header = IP(packet)
        body = packet[(packet[0] & 15) * 4:]
        if header.frag or header.flags.MF:
            return NOTHING
        if header.proto == 1 and body and body[0] == 8 and not group:
            if len(body) < 8 or not icmp_sound(body):
                return NOTHING
            echo = ICMP(body)
            echo.type = 0
            del echo.chksum
            back = IP(packet[:(packet[0] & 15) * 4])
            back.src, back.dst, back.ttl, back.flags, back.frag = header.dst, header.src, 64, 0, 0
            del back.chksum
            return self.route4(link, vrf, bytes(back) + bytes(echo), False, True)
        return [([], [packet.hex()])]

    # IPv6

    def take6(self, link, packet, group):
        if len(packet) < 40 or packet[0] >> 4 != 6:
            return NOTHING
        total = 40 + int.from_bytes(packet[4:6], "big")
        if total > len(packet):
            return NOTHING
        packet = packet[:total]
        header = IPv6(packet)
        source, to = ipaddress.ip_address(header.src), ipaddress.ip_address(header.dst)
        if source.is_multicast or source.is_loopback or source.is_unspecified or int(to) <= 1:
            return NOTHING
        if header.hlim == 0 or to.is_multicast or to.is_link_local:
            return NOTHING
        return self.route6(link, link["vrf"], packet, group, False)

    def route6(self, link, vrf, packet, group, own, depth=0):
        hop = self.world.lookup(vrf, 6, IPv6(packet).dst)
        return self.follow6(link, vrf, packet, group, own, hop, depth)

    def follow6(self, link, vrf, packet, group, own, hop, depth):
        header = IPv6(packet)
        if hop[0] == "group":
            ways = [self.follow6(link, vrf, packet, group, own, one, depth) for one in hop[1]]
            return sum(ways, [])
        if hop[0] == "vrf":
            if depth > 4:
                return NOTHING
            return self.route6(link, hop[1], packet, group, own, depth + 1)
        if hop[0] == "local":
            return self.local6(link, vrf, packet, group)
        if group:
            return NOTHING
        if hop[0] == "none":
            return self.error6(link, vrf, packet, ICMPv6DestUnreach(code=0), own)
        if hop[0] == "drop":
            code = {"Blackhole": None, "Unreachable": 3, "Prohibited": 1}[hop[1]]
            if code is None:
                return NOTHING
            return self.error6(link, vrf, packet, ICMPv6DestUnreach(code=code), own)
        if ipaddress.ip_address(header.src).is_link_local and not own:
            return NOTHING
        if not own and header.hlim <= 1:
            return self.error6(link, vrf, packet, ICMPv6TimeExceeded(code=0), own)
        if hop[0] == "glean":
            return NOTHING
        out = self.world.links[hop[1]]
        near = self.world.neighbours[(hop[1], hop[2])]
        if len(packet) > out["mtu"]:
            return self.error6(link, vrf, packet, ICMPv6PacketTooBig(mtu=out["mtu"]), own)
        aged = bytearray(packet)
        if not own:
            aged[7] -= 1
        return [([frame_out(self.world, hop[1], near, bytes(aged))], [])]

    def error6(self, link, vrf, packet, message, own):
        header = IPv6(packet)
        if own or ipaddress.ip_address(header.src).is_link_local:
            return NOTHING
        if header.nh == 58 and (len(packet) <= 40 or packet[40] < 128 or packet[40] == 137):
            return NOTHING
        error = IPv6(src=link["own"][6], dst=header.src, hlim=64)
        error = bytes(error / message / Raw(packet[:1232]))
        return self.route6(link, vrf, error, False, True)

    def local6(self, link, vrf, packet, group):
        header, body = IPv6(packet), packet[40:]
        if header.nh == 58 and body and body[0] == 128 and not group:
            echo = IPv6(packet)
            made = echo.copy()
            del made[ICMPv6EchoRequest].cksum
            if len(body) < 8 or IPv6(bytes(made))[ICMPv6EchoRequest].cksum != \
                    echo[ICMPv6EchoRequest].cksum:
                return NOTHING
            ask = echo[ICMPv6EchoRequest]
            back = IPv6(src=header.dst, dst=header.src, hlim=64, tc=header.tc, fl=header.fl)
            back = back / ICMPv6EchoReply(id=ask.id, seq=ask.seq, data=ask.data)
            return self.route6(link, vrf, bytes(back), False, True)
        return [([], [packet.hex()])]


def icmp_sound(body):
    echo = ICMP(body)
    right = echo.chksum
    del echo.chksum
    return ICMP(bytes(echo)).chksum == right


class Packets:
    """Random packets that have to do with a world."""

    def __init__(self, world):
        self.world, self.rng = world, world.rng

    def address(self, version):
        vrf = self.rng.choice(self.world.vrfs)
        kind = self.rng.random()
        if kind < 0.1:
            return self.rng.choice(list(self.world.links.values()))["own"][version]
        if kind < 0.15:
            bits = 32 if version == 4 else 128
            return str(ipaddress.ip_address(self.rng.getrandbits(bits) | 1 << (bits - 1)
                                            if version == 4 else self.rng.getrandbits(bits)))
        network = self.rng.choice(list(self.world.routes[vrf][version]))
        spare = network.max_prefixlen - network.prefixlen
        return str(network.network_address + (self.rng.getrandbits(spare) if spare else 0))

    def body(self):
        size = self.rng.choice([0, 1, 20, 100, 700, 1200, 1272, 1400, 1460])
        return bytes(self.rng.getrandbits(8) for _ in range(size))

    def transport(self, version):
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return UDP(sport=rng.getrandbits(16), dport=rng.getrandbits(16)) / Raw(self.body())
        if kind < 0.75:
            return TCP(sport=rng.getrandbits(16), dport=rng.choice([22, 80, 179])) \
                / Raw(self.body())
        if version == 6:
            return ICMPv6EchoRequest(id=rng.getrandbits(16), data=self.body())
        return ICMP(type=rng.choice([8, 8, 0, 3, 11]), id=rng.getrandbits(16)) / Raw(self.body())

    def ip4(self):
        rng = self.rng
        packet = IP(src=self.address(4), dst=self.address(4), tos=rng.getrandbits(8),
                    id=rng.getrandbits(16), ttl=rng.choice([0, 1, 2, 64, 255]))
        packet.flags = rng.choice([0, 0, "DF", "MF"])
        if rng.random() < 0.1:
            packet.frag = rng.randint(1, 100)
        if rng.random() < 0.1:
            packet.options = [IPOption_NOP(), IPOption_RR(routers=["0.0.0.0"])]
        packet = bytearray(bytes(packet / self.transport(4)))
        if rng.random() < 0.08:
            packet[rng.randrange(20)] ^= 1 << rng.randrange(8)
        return 0x0800, bytes(packet)

    def ip6(self):
        rng = self.rng
        packet = IPv6(src=self.address(6), dst=self.address(6), tc=rng.getrandbits(8),
                      fl=rng.getrandbits(20), hlim=rng.choice([0, 1, 2, 64, 255]))
        packet = bytearray(bytes(packet / self.transport(6)))
        if rng.random() < 0.05:
            packet[rng.randrange(8)] ^= 1 << rng.randrange(8)
        return 0x86DD, bytes(packet)

    def arp(self):
        link = self.rng.choice(list(self.world.links.values()))
        to = self.rng.choice([link["own"][4], self.address(4)])
        # From another subnet: nobody learns from it.
        source = "198.51.100.77"
        return 0x0806, bytes(ARP(op=1, hwsrc="02:00:00:00:09:09", psrc=source, pdst=to))

    def one(self):
        rng = self.rng
        kind, packet = rng.choice([self.ip4, self.ip4, self.ip4, self.ip6, self.ip6, self.arp])()
        link = rng.choice(list(self.world.links.values()))
        to = link["mac"] if rng.random() < 0.92 else \
            rng.choice(["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "02:00:00:00:00:77"])
        frame = bytes(mac_of(to)) + NEAR + tags(link["outer"], link["inner"])
        frame += kind.to_bytes(2, "big") + packet
        if rng.random() < 0.1:
            frame += bytes(rng.randrange(40))
        if rng.random() < 0.03:
            frame = frame[:rng.randrange(len(frame))]
        return link["port"], frame


def main(world, router, packets, least):
    """Prints the case: random packets of `least` octets and more."""
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    world = world(random.Random(seed))
    router, packets, cases = router(world), packets(world), []
    for _ in range(count):
        port, frame = packets.one()
        if len(frame) < least:
            continue
        left = router.take(port, frame)
        # What the control process or nobody gets is not of this test.
        if left is not None:
            cases.append({"port": port, "frame": frame.hex(), "left": left})
    json.dump({"programs": world.programs, "packets": cases}, sys.stdout)


if __name__ == "__main__":
    main(World, Router, Packets, 14)
