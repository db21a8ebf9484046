# An S-CSCF with its terminals, whose codecs of RP messages and TPDUs are pycrate's. Reads a command
# a line, answers with an object of JSON a line.
#
#   register NUMBER sms|text SECONDS      third-party REGISTER: its status; a name has no number
#   mode NUMBER ok|memory|refuse|absent   what the terminal makes of messages from now on
#   submit FROM TO REF plain|report TEXT  RP-DATA in a MESSAGE: its status, and the report
#   begin FROM TO REF TEXT                the same without a report, for which nobody waits
#   text FROM TO TEXT                     text/plain in a MESSAGE: its status
#   smma NUMBER                           RP-SMMA: its status, and the report
#   take NUMBER                           what the terminal was sent next
#   stranger                              a MESSAGE from another address: its status
#   save FILE                             all packets so far, for tshark
#
# Arguments: udp|tcp, own address and port, the gateway's address and port, by udp those of several
# with commas; the service centre that terminals send to, where it is not the gateway itself.
import json
import queue
import socket
import struct
import sys
import threading

from sms_codecs import RP_TYPE, acknowledgement, delivery, report_of, submission

LONG = 60
DOMAIN = "ims.example.org"
INNER = ("REGISTER sip:ims.example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKu\r\n"
         "Max-Forwards: 70\r\nFrom: <{0}>;tag=u\r\nTo: <{0}>\r\nCall-ID: u-{1}\r\n"
         "CSeq: 1 REGISTER\r\nContact: <sip:{1}@192.0.2.1>{2}\r\nContent-Length: 0\r\n\r\n")
transport, own, gateway = sys.argv[1], sys.argv[2], sys.argv[3]


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


OWN = address(own)
GATEWAYS = [address(it) for it in gateway.split(",")]
GATEWAY = GATEWAYS[0]
FAMILY = socket.AF_INET6 if ":" in OWN[0] else socket.AF_INET
CENTRE = sys.argv[4] if len(sys.argv) > 4 else "447700000099"
packets, answers, reports, inbox, modes = [], {}, {}, {}, {}
lock = threading.Lock()
count = 0


def identity(number):
    return "sip:%s%s@%s" % ("+" if number.isdigit() else "", number, DOMAIN)


class Datagrams:
    def __init__(self):
        self.socket = socket.socket(FAMILY, socket.SOCK_DGRAM)
        self.socket.bind(OWN)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            octets, _ = self.socket.recvfrom(65535)
            heard(octets)

    def send(self, octets):
        for it in GATEWAYS:
            self.socket.sendto(octets, it)


class Streams:
    def __init__(self):
        self.listener = socket.create_server(OWN, family=FAMILY)
        threading.Thread(target=self.accept, daemon=True).start()
        self.out = None
        self.incoming = None

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            self.incoming = connection
            threading.Thread(target=self.run, args=(connection,), daemon=True).start()

    def run(self, connection):
        buffer = b""
        while True:
            octets = connection.recv(65535)
            if not octets:
                return
            buffer += octets
            while b"\r\n\r\n" in buffer:
                head, rest = buffer.split(b"\r\n\r\n", 1)
                length = int(header(head.decode() + "\r\n", "Content-Length") or 0)
                if len(rest) < length:
                    break
                heard(head + b"\r\n\r\n" + rest[:length], connection)
                buffer = rest[length:]

    def send(self, octets):
        if self.out is None:
            self.out = socket.create_connection(GATEWAY)
            threading.Thread(target=self.run, args=(self.out,), daemon=True).start()
        self.out.sendall(octets)


def header(head, name):
    for line in head.split("\r\n"):
        if line.lower().startswith(name.lower() + ":"):
            return line.split(":", 1)[1].strip()
    return None


def send(octets, connection=None):
    with lock:
        packets.append((True, octets))
    if connection is not None:
        connection.sendall(octets)
    else:
        link.send(octets)


def heard(octets, connection=None):
    with lock:
        packets.append((False, octets))
    head, body = octets.split(b"\r\n\r\n", 1)
    head = head.decode()
    if head.startswith("SIP/2.0"):
        answers.setdefault(header(head, "Call-ID"), queue.Queue()).put(int(head.split()[1]))
        return
    method = head.split()[0]
    number = head.split()[1].split(":")[1].split("@")[0].lstrip("+")
    mode = modes.get(number, "ok")
    is_report = header(head, "In-Reply-To") is not None
    status = "480 Temporarily Unavailable" if mode == "absent" and not is_report else "200 OK"
    if method == "OPTIONS":
        status = "200 OK"
    lines = [it for it in head.split("\r\n")
             if it.split(":")[0].lower() in ("via", "from", "call-id", "cseq")]
    to = "To: %s;tag=core" % header(head, "To")
    answer = "\r\n".join(["SIP/2.0 " + status] + lines + [to, "Content-Length: 0", "", ""])
    send(answer.encode(), connection)
    if method != "MESSAGE" or not status.startswith("200"):
        return
    if is_report:
        name = header(head, "In-Reply-To")
        reports.setdefault(name, queue.Queue()).put(report_of(body))
        return
    box = inbox.setdefault(number, queue.Queue())
    if header(head, "Content-Type") == RP_TYPE:
        received(number, header(head, "Call-ID"), body, mode, box)
    else:
        box.put({"kind": "text", "from": header(head, "From"), "text": body.decode()})


def received(number, call_id, body, mode, box):
    reference, said = delivery(body)
    box.put({**said, "mode": mode})
    if mode == "ok":
        octets = acknowledgement(reference)
    else:
        cause = {"memory": 22, "refuse": 111}[mode]
        octets = bytes([4, reference, 1, cause])
    threading.Thread(target=request, daemon=True,
                     args=("MESSAGE", number, RP_TYPE, octets, "In-Reply-To: %s\r\n" % call_id)).start()


def request(method, number, kind, body, more="", to=None):
    """Sends a request of a terminal's, as its S-CSCF passes it on; its status and Call-ID."""
    global count
    with lock:
        count += 1
        call_id = "c%d@core" % count
    answers.setdefault(call_id, queue.Queue())
    reports.setdefault(call_id, queue.Queue())
    uri = to or "sip:+447700000099@" + DOMAIN
    word = "UDP" if transport == "udp" else "TCP"
    head = ("%s %s SIP/2.0\r\nVia: SIP/2.0/%s %s;branch=z9hG4bK%d;rport\r\nMax-Forwards: 68\r\n"
            "From: <%s>;tag=t%d\r\nTo: <%s>\r\nCall-ID: %s\r\nCSeq: 1 %s\r\n"
            "P-Asserted-Identity: <%s>\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n") % (
        method, uri, word, own, count, identity(number), count, uri, call_id, method,
        identity(number), more, kind, len(body))
    send(head.encode() + body)
    return answers[call_id].get(timeout=LONG), call_id


def third_party(number, takes, seconds):
    global count
    with lock:
        count += 1
        call_id = "r%d@core" % count
    answers.setdefault(call_id, queue.Queue())
    feature = ";+g.3gpp.smsip" if takes == "sms" else ""
    inner = INNER.format(identity(number), number, feature)
    info = ("<?xml version=\"1.0\"?><ims-3gpp version=\"1\"><service-info>%s</service-info>"
            "</ims-3gpp>") % number
    body = ("--b\r\nContent-Type: application/3gpp-ims+xml\r\n\r\n%s\r\n"
            "--b\r\nContent-Type: message/sip\r\n\r\n%s\r\n--b--\r\n") % (info, inner)
    word = "UDP" if transport == "udp" else "TCP"
    head = ("REGISTER sip:sms.%s SIP/2.0\r\nVia: SIP/2.0/%s %s;branch=z9hG4bKr%d;rport\r\n"
            "Max-Forwards: 70\r\nFrom: <sip:scscf.%s>;tag=r%d\r\nTo: <%s>\r\nCall-ID: %s\r\n"
            "CSeq: 1 REGISTER\r\nContact: <sip:%s>\r\nExpires: %s\r\n"
            "Content-Type: multipart/mixed;boundary=b\r\nContent-Length: %d\r\n\r\n") % (
        DOMAIN, word, own, count, DOMAIN, count, identity(number), call_id, own, seconds, len(body))
    send((head + body).encode())
    return {"status": answers[call_id].get(timeout=LONG)}


def reported(number, body):
    status, call_id = request("MESSAGE", number, RP_TYPE, body)
    if status >= 300:
        return {"status": status}
    return {"status": status, "report": reports[call_id].get(timeout=LONG)}


def stranger():
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.bind(("127.0.0.9", 0))
    other.settimeout(LONG)
    text = ("MESSAGE sip:x@ims.example.org SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.9;branch=z9hG4bKx;rport\r\n"
            "Max-Forwards: 70\r\nFrom: <sip:a@x>;tag=a\r\nTo: <sip:x@ims.example.org>\r\n"
            "Call-ID: stranger\r\nCSeq: 1 MESSAGE\r\nP-Asserted-Identity: <sip:+447700900123@%s>\r\n"
            "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nHi") % DOMAIN
    other.sendto(text.encode(), GATEWAY)
    return {"status": int(other.recv(65535).split()[1])}


def save(name):
    """A capture of IP packets, each with one message."""
    with open(name, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for n, (is_own, octets) in enumerate(packets):
            (source, at), (to, port) = (OWN, GATEWAY) if is_own else (GATEWAY, OWN)
            udp = struct.pack("!HHHH", at, port, 8 + len(octets), 0) + octets
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), n & 0xffff, 0, 64, 17, 0,
                             socket.inet_aton(source), socket.inet_aton(to))
            file.write(struct.pack("<IIII", n, 0, len(ip) + len(udp), len(ip) + len(udp)))
            file.write(ip + udp)
    return {"packets": len(packets)}


def obey(line):
    word, *rest = line.split(" ")
    if word == "register":
        return third_party(*rest)
    if word == "mode":
        modes[rest[0]] = rest[1]
        return {}
    if word == "submit":
        return reported(rest[0], submission(CENTRE, *rest[1:4], " ".join(rest[4:])))
    if word == "begin":
        body = submission(CENTRE, rest[1], rest[2], "plain", " ".join(rest[3:]))
        return {"status": request("MESSAGE", rest[0], RP_TYPE, body)[0]}
    if word == "text":
        status, _ = request("MESSAGE", rest[0], "text/plain;charset=UTF-8", " ".join(rest[2:]).encode(),
                            to=identity(rest[1]))
        return {"status": status}
    if word == "smma":
        return reported(rest[0], bytes([6, 33]))
    if word == "take":
        return inbox.setdefault(rest[0], queue.Queue()).get(timeout=LONG)
    if word == "stranger":
        return stranger()
    return save(rest[0])


link = Datagrams() if transport == "udp" else Streams()
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps(obey(line.rstrip("\n"))), flush=True)
