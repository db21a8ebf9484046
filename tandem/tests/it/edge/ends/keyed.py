"""A phone whose packets libsrtp protects (Debian: python3-pylibsrtp), keys in its description.

Arguments: `calls` or `answers`, address, where its requests go as `HOST:PORT`, suite, seed.
Lines in: `call` (of who calls), `speak COUNT`, `hang up`; JSON a line out. `speak` sends packets as
they are, again, late, and with octets turned, and asks libsrtp of each what it makes of it: `took`
has those that it takes, `left` the others. What comes and libsrtp takes is `heard`, the rest
`refused`; packets are named by a number that they carry.
"""

import base64
import json
import os
import random
import select
import socket
import struct
import sys
import time

from pylibsrtp import Error, Policy, Session

ROLE, ADDRESS, PROXY, SUITE, SEED = sys.argv[1:]
SUITES = {
    "AES_CM_128_HMAC_SHA1_80": (Policy.SRTP_PROFILE_AES128_CM_SHA1_80, 30),
    "AES_CM_128_HMAC_SHA1_32": (Policy.SRTP_PROFILE_AES128_CM_SHA1_32, 30),
    "AEAD_AES_128_GCM": (Policy.SRTP_PROFILE_AEAD_AES_128_GCM, 28),
}
PORT, SSRC = 4000, 0x7A6D + int(SEED)
dice = random.Random(int(SEED))
key = os.urandom(SUITES[SUITE][1])
peer = {}


def bound(port):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((ADDRESS, port))
    return made


sip, rtp, rtcp = bound(5060), bound(PORT), bound(PORT + 1)


def session(suite, master, kind):
    policy = Policy(key=master, ssrc_type=kind, srtp_profile=SUITES[suite][0])
    policy.window_size = 128
    return Session(policy=policy)


out = session(SUITE, key, Policy.SSRC_ANY_OUTBOUND)
double = session(SUITE, key, Policy.SSRC_ANY_INBOUND)


def description():
    return (
        f"v=0\r\no=- 1 1 IN IP4 {ADDRESS}\r\ns=-\r\nc=IN IP4 {ADDRESS}\r\nt=0 0\r\n"
        f"m=audio {PORT} RTP/SAVP 8\r\na=rtpmap:8 PCMA/8000\r\n"
        f"a=crypto:{peer.get('tag', '1')} {SUITE} inline:{base64.b64encode(key).decode()}\r\n")


def take(body):
    lines = body.splitlines()
    (media,) = [line for line in lines if line.startswith("m=audio")]
    (host,) = {line.split()[-1] for line in lines if line.startswith("c=")}
    keys = [line[9:].split() for line in lines if line.startswith("a=crypto:")]
    tag, suite, inline = [it for it in keys if it[1] == SUITE][0][:3]
    master = base64.b64decode(inline.split(":")[1].split("|")[0])
    peer.update(to=(host, int(media.split()[1])), tag=tag)
    peer["in"] = session(suite, master, Policy.SSRC_ANY_INBOUND)


def request(method, number, body=""):
    kind = "Content-Type: application/sdp\r\n" if body else ""
    return (
        f"{method} {peer.get('contact', 'sip:bob@' + PROXY)} SIP/2.0\r\n"
        f"Via: SIP/2.0/UDP {ADDRESS}:5060;branch=z9hG4bK{method}{number}{SEED}\r\n"
        f"Max-Forwards: 70\r\nFrom: {peer['own']}\r\nTo: {peer['other']}\r\n"
        f"Call-ID: {peer['call']}\r\nCSeq: {number} {method}\r\n"
        f"Contact: <sip:{ADDRESS}:5060>\r\n{kind}Content-Length: {len(body)}\r\n\r\n{body}")


def fields(text, name):
    head = text.split("\r\n\r\n")[0].split("\r\n")[1:]
    return [line.split(":", 1)[1].strip() for line in head if line.lower().startswith(name)]


def said(text):
    host, port = PROXY.rsplit(":", 1)
    sip.sendto(text.encode(), (host, int(port)))


def answer(text, status, body=""):
    same = "".join(f"Via: {it}\r\n" for it in fields(text, "via:"))
    to = fields(text, "to:")[0]
    to += "" if ";tag=" in to else f";tag=b{SEED}"
    kind = "Content-Type: application/sdp\r\n" if body else ""
    said(
        f"SIP/2.0 {status} OK\r\n{same}From: {fields(text, 'from:')[0]}\r\nTo: {to}\r\n"
        f"Call-ID: {fields(text, 'call-id:')[0]}\r\nCSeq: {fields(text, 'cseq:')[0]}\r\n"
        f"Contact: <sip:{ADDRESS}:5060>\r\n{kind}Content-Length: {len(body)}\r\n\r\n{body}")
    return to


def contact(text):
    return fields(text, "contact:")[0].split("<")[1].split(">")[0]


def call():
    peer.update(own=f"<sip:alice@{ADDRESS}>;tag=a{SEED}", other=f"<sip:bob@{PROXY}>",
                call=f"keyed{SEED}")
    invite = request("INVITE", 1, description())
    said(invite)
    while True:
        text = sip.recv(65536).decode()
        status = int(text.split()[1])
        if status >= 200:
            break
    assert status == 200, text
    take(text.split("\r\n\r\n", 1)[1])
    peer.update(other=fields(text, "to:")[0], contact=contact(text))
    said(request("ACK", 1))


def signalled(text):
    """Something of SIP came while packets are looked for."""
    if text.startswith("INVITE"):
        take(text.split("\r\n\r\n", 1)[1])
        own = answer(text, 200, description())
        peer.update(own=own, other=fields(text, "from:")[0], call=fields(text, "call-id:")[0])
        peer["contact"] = contact(text)
    elif text.startswith("BYE"):
        answer(text, 200)
        tell(ended=True)


def tell(**what):
    print(json.dumps(what), flush=True)


def packet(number):
    head = struct.pack("!BBHII", 0x80, 8, number & 0xFFFF, number * 160, SSRC)
    return head + struct.pack("!I", number) + bytes(16)


def report(number):
    return struct.pack("!BBHIQIII", 0x80, 200, 6, SSRC, 1 << 32, number, number, number * 160)


heard, refused, reports = [], [], 0


def listen(seconds):
    """Takes what comes for so long."""
    global reports
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for end in select.select([rtp, rtcp, sip], [], [], left)[0]:
            text = end.recv(65536)
            if end is sip:
                signalled(text.decode())
                continue
            try:
                if end is rtp:
                    plain = peer["in"].unprotect(text)
                    heard.append(struct.unpack_from("!I", plain, 12)[0])
                else:
                    peer["in"].unprotect_rtcp(text)
                    reports += 1
            except Error as why:
                refused.append(str(why))


def turned(text):
    at = dice.randrange(12, len(text))
    return text[:at] + bytes([text[at] ^ 1 << dice.randrange(8)]) + text[at + 1:]


def speak(count):
    took, left, told, began = [], [], [], peer.setdefault("next", 20_000)
    late = []
    for number in range(began, began + count):
        text = out.protect(packet(number))
        what = dice.randrange(8)
        if what == 0:  # It comes later, maybe too late.
            late.append((number + dice.randrange(1, 200), text))
            continue
        texts = [text]
        if what == 1 and told:  # One that was sent comes again.
            texts.append(dice.choice(told[-dice.randrange(1, 200):]))
        elif what == 2:  # Octets are turned on the way, and the true one comes behind.
            texts.insert(0, turned(text))
        elif what == 3:
            texts = [turned(text)]
        texts += [it for due, it in late if due <= number]
        late = [it for it in late if it[0] > number]
        for text in texts:
            told.append(text)
            try:
                plain = double.unprotect(text)
                took.append(struct.unpack_from("!I", plain, 12)[0])
            except Error as why:
                left.append(str(why))
            rtp.sendto(text, peer["to"])
            listen(0.002)
        if number % 50 == 0:
            rtcp.sendto(out.protect_rtcp(report(number)), (peer["to"][0], peer["to"][1] + 1))
    peer["next"] = began + count
    tell(took=took, left=left)


tell(ready=True)
while True:
    while not select.select([sys.stdin], [], [], 0)[0]:
        listen(0.01)
    line = sys.stdin.readline().split()
    if not line:
        break
    if line[0] == "call":
        call()
        tell(stands=peer["to"])
    elif line[0] == "speak":
        speak(int(line[1]))
    elif line[0] == "told":
        tell(heard=heard, refused=refused, reports=reports)
    elif line[0] == "hang":
        said(request("BYE", 2))
        listen(0.5)
