"""A phone of plain RTP (PCMA). Arguments: address, port, hertz, file for the samples that came.

Video that is offered goes back as it comes (from PORT + 2), as if it were another's.

A line in: {"offer": true}, {"answer": SDP} or {"take": SDP}; a line out: {"sdp": SDP}.
"""

import audioop
import json
import math
import socket
import struct
import sys
import threading
import time

ADDRESS, PORT, HERTZ, FILE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
PACKET_S, SAMPLES, PCMA = 0.02, 160, 8
remote = {}


def bound(port):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((ADDRESS, port))
    return made


rtp, rtcp, video, video_rtcp = map(bound, range(PORT, PORT + 4))


def description():
    return (
        f"v=0\r\no=- 1 1 IN IP4 {ADDRESS}\r\ns=-\r\nc=IN IP4 {ADDRESS}\r\nt=0 0\r\n"
        f"m=audio {PORT} RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\na=sendrecv\r\n"
    ) + "".join(map(other, remote.get("other", [])))


def other(line):
    """The line of video takes the first payload type that is offered; others are refused."""
    kind, protocol, formats = line
    if kind != "video":
        return f"m={kind} 0 {protocol} {formats}\r\n"
    first = formats.split()[0]
    named = [it for it in remote["lines"] if it.startswith(f"a=rtpmap:{first} ")]
    return f"m=video {PORT + 2} {protocol} {first}\r\n{named[0]}\r\na=sendrecv\r\n"


def take(sdp):
    lines = sdp.splitlines()
    media = [line[2:].split(" ", 3) for line in lines if line.startswith("m=")]
    remote["lines"] = lines
    remote["other"] = [(it[0], it[2], it[3]) for it in media[1:]]
    host = [line.split()[-1] for line in lines if line.startswith("c=")][0]
    remote["to"] = (host, int(media[0][1]))


def speak():
    """Packets of a tone, and a report each half second."""
    number, ssrc, began = 0, 0x1234, time.monotonic()
    while True:
        time.sleep(max(0.0, began + number * PACKET_S - time.monotonic()))
        turn = 2 * math.pi * HERTZ / 8000
        at = number * SAMPLES
        wave = [int(12000 * math.sin(turn * (at + it))) for it in range(SAMPLES)]
        payload = audioop.lin2alaw(struct.pack("<160h", *wave), 2)
        head = struct.pack("!BBHII", 0x80, PCMA, number & 0xFFFF, at & 0xFFFFFFFF, ssrc)
        number += 1
        if "to" not in remote:
            continue
        host, port = remote["to"]
        rtp.sendto(head + payload, (host, port))
        if number % 25 == 0:
            report = struct.pack("!BBHIQIII", 0x80, 200, 6, ssrc, 1 << 32, at, number, number * 160)
            name = struct.pack("!BBHIBB4sH", 0x81, 202, 3, ssrc, 1, 4, b"here", 0)
            rtcp.sendto(report + name, (host, port + 1))


def hear():
    with open(FILE, "wb", buffering=0) as file:
        while True:
            packet = rtp.recv(2048)
            if packet[0] >> 6 == 2 and packet[1] & 0x7F == PCMA:
                file.write(audioop.alaw2lin(packet[12 + 4 * (packet[0] & 15):], 2))


def read(end, name):
    """The type of each report that came, a line each."""
    with open(FILE + name, "w", buffering=1) as file:
        while True:
            file.write(f"{end.recv(2048)[1]}\n")


def mirror():
    while True:
        packet, source = video.recvfrom(2048)
        remote["pictures"] = packet[8:12]
        video.sendto(packet[:8] + b"back" + packet[12:], source)


def wishes():
    """Wishes for a whole picture (RFC 4585 §6.3.1, RFC 5104 §4.3.1) go back to who sends the
    pictures, and so do those for packets that were lost (RFC 4585 §6.2.1)."""
    with open(FILE + ".video.reports", "w", buffering=1) as file:
        while True:
            packet, source = video_rtcp.recvfrom(2048)
            file.write(f"{packet[1]}\n")
            back, at = struct.pack("!BBH4s", 0x80, 201, 1, b"back"), 0
            while at + 4 <= len(packet):
                end = at + 4 + 4 * struct.unpack_from("!H", packet, at + 2)[0]
                if packet[at + 1] in (205, 206) and "pictures" in remote:
                    ssrc = remote["pictures"]
                    rest = packet[at + 12:end]
                    if packet[at] & 31 == 4 and packet[at + 1] == 206:  # FIR names whom it asks
                        rest = ssrc + rest[4:]
                    back += packet[at:at + 4] + b"back" + ssrc + rest
                at = end
            if len(back) > 8:
                video_rtcp.sendto(back, source)


for work in (speak, hear, mirror, wishes):
    threading.Thread(target=work, daemon=True).start()
threading.Thread(target=read, args=(rtcp, ".reports"), daemon=True).start()
for line in sys.stdin:
    said = json.loads(line)
    if "answer" in said or "take" in said:
        take(said.get("answer") or said["take"])
    if "take" not in said:
        print(json.dumps({"sdp": description()}), flush=True)
