#!/usr/bin/env python3
"""The second forwarder, with labels, cross-connects and a bridge domain: as reference.py.

    reference_labels.py SEED PACKETS
"""
import ipaddress

from reference import NEAR, NOTHING, Packets, Router, World, header, mac_of, main, tags
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6PacketTooBig, ICMPv6TimeExceeded
from scapy.packet import Raw

ARP_TYPE = 0x88B5


def entry(label, cos, bottom, ttl):
    return bytes(MPLS(label=label, cos=cos, s=int(bottom), ttl=ttl))


class LabelWorld(World):
    def build(self):
        super().build()
        for program in self.programs:
            if "Interface" in program:
                program["Interface"]["mpls"] = True
        self.next_hop = max(self.hops) + 1
        self.vias = [number for number, hop in self.hops.items() if hop[0] == "via"]
        self.pushes, self.labels, self.circuits = {}, {}, {}
        self.used = {(link["port"], link["outer"]) for link in self.links.values()}
        for _ in range(4):
            self.push(self.rng.choice(self.vias), self.rng.randint(1, 2), False)
        for _ in range(2):
            over = self.rng.choice(list(self.pushes))
            if len(self.pushes[over]["labels"]) < 3:
                self.push(over, 1, False)
        # A control word ends a stack, and forty octets are a rewrite: two tags, three labels, it.
        trunks = [number for number, push in self.pushes.items() if len(push["labels"]) < 3]
        self.wires = [self.push(self.rng.choice(trunks), 1, True) for _ in range(4)]
        self.make_tunnels()
        self.make_circuits()
        self.make_labels()

    def make_tunnels(self):
        """Routes into labels."""
        for number, push in self.pushes.items():
            if push["wire"]:
                continue
            vrf = self.rng.choice(self.vrfs)
            four = ipaddress.ip_network((203 << 24 | self.rng.getrandbits(24), 32))
            six = ipaddress.ip_network((0x20010DB9 << 96 | self.rng.getrandbits(96), 128))
            for version, network in ((4, four), (6, six)):
                self.routes[vrf][version][network] = ("push", number)
                self.programs.append({"Routes%d" % version: {"vrf": vrf, "routes": [
                    [str(network.network_address), network.prefixlen, number]]}})

    def hop(self, **hop):
        number = self.next_hop
        self.next_hop += 1
        self.say(Hop={"id": number, "hop": hop})
        return number

    def push(self, over, count, wire):
        labels = [self.rng.randint(16, 0xFFFFF) for _ in range(count)]
        tunnel = self.rng.choice(["Pipe", "Uniform"])
        word = wire and self.rng.random() < 0.5
        said = {"over": over, "labels": labels, "tunnel": tunnel, "control_word": word}
        number = self.hop(Push=said)
        below = self.pushes.get(over)
        via = below["via"] if below else self.hops[over]
        stack = (below["labels"] if below else []) + labels
        # The innermost push says what the time to live does.
        self.pushes[number] = {"via": via, "labels": stack, "uniform": tunnel == "Uniform",
                               "word": word, "wire": wire}
        return number

    def circuit(self, index, mode):
        port = self.rng.randrange(self.ports)
        outer = self.rng.randint(1, 4094)
        while (port, outer) in self.used:
            outer = outer % 4094 + 1
        self.used.add((port, outer))
        inner = self.rng.choice([None, None, self.rng.randint(1, 4094)])
        self.say(Interface={"index": index, "port": port, "outer": outer, "inner": inner,
                            "mode": mode})
        mtu = next(p["Port"]["mtu"] for p in self.programs
                   if "Port" in p and p["Port"]["port"] == port)
        self.circuits[index] = {"index": index, "port": port, "outer": outer, "inner": inner,
                                "mtu": mtu}
        return self.circuits[index]

    def make_circuits(self):
        first = self.hop(Interface={"interface": 101})
        second = self.hop(Interface={"interface": 100})
        for index, hop, to in ((100, first, ("interface", 101)), (101, second, ("interface", 100)),
                               (102, self.wires[0], ("wire", self.wires[0]))):
            self.circuit(index, {"CrossConnect": {"hop": hop}})["to"] = to
        self.say(Bridge={"bridge": 7, "ageing_s": 0, "macs_max": 1000, "flood_unknown": True,
                         "learn": True})
        self.members, self.macs = {}, {}
        for index in (110, 111, 112):
            group = self.rng.choice([0, 0, 2])
            made = self.circuit(index, {"Bridged": {"bridge": 7, "split_horizon": group}})
            made["to"] = ("bridge",)
            self.members[("interface", index)] = group
        for number, wire in ((1, self.wires[1]), (2, self.wires[2]), (3, self.wires[3])):
            group = self.rng.choice([0, 1, 1])
            self.say(Pseudowire={"pseudowire": number, "bridge": 7, "hop": wire,
                                 "split_horizon": group})
            self.members[("wire", number)] = group

    def label(self, action, meaning):
        label = self.rng.randint(16, 0xFFFFF)
        while label in self.labels:
            label += 1
        self.say(Label={"label": label, "action": action})
        self.labels[label] = meaning

    def make_labels(self):
        for _ in range(12):
            tunnel = self.rng.choice(["Pipe", "Uniform"])
            uniform = tunnel == "Uniform"
            plain = [number for number, push in self.pushes.items() if not push["wire"]]
            kind = self.rng.randrange(4)
            if kind == 0:
                hop = self.rng.choice(plain)
                self.label({"Forward": {"hop": hop, "tunnel": tunnel}}, ("swap", hop))
            elif kind == 1:
                hop = self.rng.choice(self.vias)
                self.label({"Forward": {"hop": hop, "tunnel": tunnel}},
                           ("php", self.hops[hop], uniform))
            elif kind == 2:
                vrf = self.rng.choice(self.vrfs)
                self.label({"PopVrf": {"vrf": vrf, "tunnel": tunnel}}, ("vrf", vrf, uniform))
            else:
                self.label({"Pop": {"tunnel": tunnel}}, ("pop", uniform))
        for index in (100, 102):
            word = self.rng.random() < 0.5
            said = {"interface": index, "control_word": word, "flow_label": True}
            self.label({"PopInterface": said}, ("interface", index, word))
        for number in (1, 2, 3):
            word = self.rng.random() < 0.5
            said = {"pseudowire": number, "control_word": word, "flow_label": True}
            self.label({"PopPseudowire": said}, ("bridge", number, word))
        self.labels[0] = ("pop", False)


def sent_only(ways):
    """Alternatives of which nothing goes up."""
    return [(sent, []) for sent in ways]


class LabelRouter(Router):
    def take(self, port, frame):
        self.cos = 0
        circuit, inner, marks = self.circuit(port, frame)
        if circuit is not None:
            return sent_only([self.from_circuit(circuit, inner, marks)])
        link, packet, kind, group = self.classify(port, frame)
        if link is not None and kind == 0x8847 and not group:
            return self.labelled(link, packet)
        if kind == 0x8847:
            return None
        return super().take(port, frame)

    def follow4(self, link, vrf, packet, group, own, hop, depth):
        if hop[0] != "push" or group:
            return super().follow4(link, vrf, packet, group, own, hop, depth)
        ip, room = IP(packet), self.room(hop[1])
        if not own and ip.ttl <= 1:
            return self.error4(link, vrf, packet, 11, 0, own)
        if len(packet) > room and ip.flags.DF:
            return self.error4(link, vrf, packet, 3, 4, own, room)
        aged = bytearray(packet)
        aged[8] -= 0 if own else 1
        parts = self.cut(bytes(aged), room)
        cos = self.cos
        return sent_only([[one for part in parts
                           for one in self.behind(hop[1], part, cos, part[8], True, False)]])

    def follow6(self, link, vrf, packet, group, own, hop, depth):
        if hop[0] != "push" or group:
            return super().follow6(link, vrf, packet, group, own, hop, depth)
        room = self.room(hop[1])
        if not own and packet[7] <= 1:
            return self.error6(link, vrf, packet, ICMPv6TimeExceeded(code=0), own)
        if len(packet) > room:
            return self.error6(link, vrf, packet, ICMPv6PacketTooBig(mtu=room), own)
        aged = bytearray(packet)
        aged[7] -= 0 if own else 1
        return sent_only([self.behind(hop[1], bytes(aged), self.cos, aged[7], True, False)])

    def room(self, hop):
        push = self.world.pushes[hop]
        return self.world.links[push["via"][1]]["mtu"] - 4 * len(push["labels"])

    def circuit(self, port, frame):
        if len(frame) < 18 or frame[12:14] not in (b"\x81\x00", b"\x88\xa8"):
            return None, None, None
        outer = int.from_bytes(frame[14:16], "big")
        second = None
        if frame[16:18] in (b"\x81\x00", b"\x88\xa8") and len(frame) >= 22:
            second = int.from_bytes(frame[18:20], "big") & 0xFFF
        for circuit in self.world.circuits.values():
            if circuit["port"] != port or circuit["outer"] != outer & 0xFFF:
                continue
            if circuit["inner"] is None:
                return circuit, frame[:12] + frame[16:], outer
            if circuit["inner"] == second:
                return circuit, frame[:12] + frame[20:], outer
        return None, None, None

    def to_circuit(self, index, frame, cos, dei):
        circuit = self.world.circuits[index]
        if len(frame) > circuit["mtu"] + 14:
            return []
        marks = cos << 13 | dei << 12
        tags = [circuit["outer"]] + ([circuit["inner"]] if circuit["inner"] is not None else [])
        octets = b""
        for at, vlan in enumerate(tags):
            kind = 0x88A8 if at + 1 < len(tags) else 0x8100
            octets += kind.to_bytes(2, "big") + (marks | vlan).to_bytes(2, "big")
        return [[circuit["port"], (frame[:12] + octets + frame[12:]).hex()]]

    def to_wire(self, hop, frame, cos):
        return self.behind(hop, frame, cos, 255, True, False)

    def behind(self, hop, packet, cos, ttl, bottom, swapped):
        push = self.world.pushes[hop]
        _, index, address = push["via"]
        last = len(push["labels"]) - 1
        used = ttl if swapped or push["uniform"] else 255
        stack = b"".join(entry(label, cos, bottom and at == last, used)
                         for at, label in enumerate(push["labels"]))
        stack += bytes(4) if push["word"] else b""
        return self.out(index, address, b"\x88\x47", stack + packet)

    def out(self, index, address, kind, octets):
        link = self.world.links[index]
        near = self.world.neighbours[(index, address)]
        if len(octets) > link["mtu"]:
            return []
        return [[link["port"], (header(link, near) + kind + octets).hex()]]

    def from_circuit(self, circuit, frame, outer):
        cos, dei = outer >> 13, outer >> 12 & 1
        if len(frame) < 14:
            return []
        if circuit["to"][0] == "interface":
            return self.to_circuit(circuit["to"][1], frame, cos, dei)
        if circuit["to"][0] == "wire":
            return self.to_wire(circuit["to"][1], frame, cos)
        return self.bridged(("interface", circuit["index"]), frame, cos, dei)

    def bridged(self, member, frame, cos, dei):
        world = self.world
        to, source = frame[:6], frame[6:12]
        if source[0] & 1:
            return []
        where = world.macs.get(to)
        world.macs[source] = member
        if where is not None:
            members = [where]
        else:
            if to[:5] == b"\x01\x80\xc2\x00\x00" and to[5] < 16:
                return []
            members = list(world.members)
        sent = []
        for other in members:
            group = world.members[member]
            if other == member or (group != 0 and group == world.members[other]):
                continue
            if other[0] == "interface":
                sent += self.to_circuit(other[1], frame, cos, dei)
            else:
                sent += self.to_wire(world.wires[other[1]], frame, cos)
        return sent

    def labelled(self, link, octets):
        for _ in range(8):
            if len(octets) < 4:
                return NOTHING
            top = MPLS(octets[:4])
            self.cos = top.cos
            action = self.world.labels.get(top.label)
            if top.ttl <= 1 and action is not None and action[0] != "pop":
                # The packets here are none whose sender hears of it.
                return NOTHING
            if action is None:
                return None
            below, bottom = octets[4:], top.s == 1
            if action[0] == "swap":
                sent = self.behind(action[1], below, top.cos, top.ttl - 1, bottom, True)
                return sent_only([sent])
            if action[0] == "php":
                return sent_only([self.popped(action, below, bottom, top.ttl - 1)])
            if action[0] in ("interface", "bridge"):
                return sent_only(self.frame(action, below, bottom, top.cos))
            if action[0] == "vrf" and not bottom:
                return NOTHING
            if action[-1]:
                below = self.lowered(below, bottom, top.ttl)
            if action[0] == "vrf":
                return self.inside({**link, "vrf": action[1]}, below)
            if bottom:
                return self.inside(link, below)
            octets = below
        return NOTHING

    def inside(self, link, packet):
        version = packet[0] >> 4 if packet else 0
        if version == 4:
            return self.take4(link, packet, False)
        if version == 6:
            return self.take6(link, packet, False)
        return NOTHING

    def lowered(self, octets, bottom, ttl):
        if not bottom:
            return octets[:3] + bytes([min(octets[3], ttl)]) + octets[4:] if len(octets) >= 4 \
                else octets
        octets = bytearray(octets)
        if octets and octets[0] >> 4 == 4 and len(octets) >= 20 and octets[8] > ttl:
            # RFC 1624: a sum that was wrong stays wrong.
            lost = (octets[8] - ttl) << 8
            octets[8] = ttl
            check = int.from_bytes(octets[10:12], "big") + lost
            octets[10:12] = ((check & 0xffff) + (check >> 16)).to_bytes(2, "big")
        elif octets and octets[0] >> 4 == 6 and len(octets) >= 40 and octets[7] > ttl:
            octets[7] = ttl
        return bytes(octets)

    def popped(self, action, below, bottom, ttl):
        if action[2]:
            below = self.lowered(below, bottom, ttl)
        _, index, address = action[1]
        if not bottom:
            return self.out(index, address, b"\x88\x47", below)
        version = below[0] >> 4 if below else 0
        if version not in (4, 6):
            return []
        kind = b"\x08\x00" if version == 4 else b"\x86\xdd"
        return self.out(index, address, kind, below)

    def frame(self, action, below, bottom, cos):
        if not bottom:
            if len(below) < 4 or not below[2] & 1:
                return [[]]
            below = below[4:]
        if action[2]:
            if len(below) < 4 or below[0] >> 4 != 0:
                return [[]]
            below = below[4:]
        if len(below) < 14:
            return [[]]
        if action[0] == "interface":
            return [self.to_circuit(action[1], below, cos, 0)]
        return [self.bridged(("wire", action[1]), below, cos, 0)]


class LabelPackets(Packets):
    def station(self):
        return bytes([2, 0, 0, 8, 0, self.rng.randrange(6)])

    def frame(self):
        rng = self.rng
        to = rng.choice([self.station(), self.station(), b"\xff" * 6, b"\x01\x00\x5e\x00\x00\x01",
                         b"\x01\x80\xc2\x00\x00\x02"])
        source = self.station() if rng.random() < 0.95 else b"\x03\x00\x00\x00\x00\x01"
        return to + source, ARP_TYPE.to_bytes(2, "big") + bytes(
            rng.getrandbits(8) for _ in range(rng.choice([46, 46, 200, 900, 1300])))

    def circuit_frame(self):
        rng = self.rng
        circuit = rng.choice(list(self.world.circuits.values()))
        addresses, rest = self.frame()
        marks = rng.getrandbits(4) << 12
        front = tags(circuit["outer"], circuit["inner"], marks)
        if circuit["inner"] is None and rng.random() < 0.3:
            front += tags(rng.getrandbits(12), None)
        return circuit["port"], addresses + front + rest

    def one(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.3:
            return self.circuit_frame()
        if kind < 0.35:
            return super().one()
        label = rng.choice(list(self.world.labels))
        meaning = self.world.labels[label]
        ttl = rng.choice([2, 3, 64, 64, 255])
        cos = rng.randrange(8)
        if meaning[0] in ("interface", "bridge"):
            addresses, rest = self.frame()
            flow = rng.random() < 0.3
            octets = entry(label, cos, not flow, ttl)
            octets += entry(rng.randint(16, 0xFFFFF), 0, True, 1) if flow else b""
            octets += bytes(4) if meaning[2] else b""
            octets += addresses + rest
        else:
            packet = self.ip4()[1] if rng.random() < 0.6 else self.ip6()[1]
            if rng.random() < 0.05:
                # Too old, and about an error: nobody hears of it.
                packet = bytes(IP(src="10.1.1.1", dst="10.2.2.2") / ICMP(type=11) / Raw(bytes(40)))
                ttl = rng.choice([0, 1])
            below = []
            for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
                below.append(rng.choice(list(self.world.labels)))
            stack = [label] + below
            octets = b"".join(entry(one, rng.randrange(8), at + 1 == len(stack),
                                    ttl if at == 0 else rng.choice([2, 64, 255]))
                              for at, one in enumerate(stack)) + packet
        link = rng.choice(list(self.world.links.values()))
        frame = bytes(mac_of(link["mac"])) + NEAR + tags(link["outer"], link["inner"])
        frame += b"\x88\x47" + octets
        if rng.random() < 0.02:
            frame = frame[:rng.randrange(len(frame))]
        return link["port"], frame


if __name__ == "__main__":
    main(LabelWorld, LabelRouter, LabelPackets, 22)
