# Terminals behind a P-CSCF, towards an S-CSCF that others wrote: their codecs of RP messages and
# TPDUs are pycrate's. Reads a command a line, answers with an object of JSON a line.
#
#   register NUMBER SECONDS     REGISTER of a terminal that takes short messages: its status
#   submit FROM TO REF TEXT     RP-DATA in a MESSAGE: its status, and the report
#   take NUMBER                 what the terminal was sent next
#
# Arguments: own address and port, the S-CSCF's, the domain, the service centre.
import json
import queue
import socket
import sys
import threading

from sms_codecs import RP_TYPE, acknowledgement, delivery, report_of, submission

LONG = 60
own, scscf, domain, centre = sys.argv[1:]
answers, reports, inbox, sent = {}, {}, {}, {}
lock = threading.Lock()
count = 0


def pair(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(pair(own))


def identity(number):
    return "sip:+%s@%s" % (number, domain)


def header(head, name):
    for line in head.split("\r\n"):
        if line.lower().startswith(name.lower() + ":"):
            return line.split(":", 1)[1].strip()
    return None


def run():
    while True:
        octets, came = link.recvfrom(65535)
        head, body = octets.split(b"\r\n\r\n", 1)
        head = head.decode()
        if head.startswith("SIP/2.0"):
            if int(head.split()[1]) >= 200:
                answers[header(head, "Call-ID")].put(int(head.split()[1]))
            continue
        taken(head, body, came)


def taken(head, body, came):
    lines = [it for it in head.split("\r\n")
             if it.split(":")[0].lower() in ("via", "from", "call-id", "cseq", "record-route")]
    to = "To: %s;tag=terminal" % header(head, "To")
    link.sendto("\r\n".join(["SIP/2.0 200 OK"] + lines + [to, "Content-Length: 0", "", ""]).encode(), came)
    call_id, answered = header(head, "Call-ID"), header(head, "In-Reply-To")
    if call_id in sent:
        return  # it is said again
    sent[call_id] = True
    number = head.split()[1].split(":")[1].split("@")[0].lstrip("+")
    if answered is not None:
        reports.setdefault(answered, queue.Queue()).put(report_of(body))
        return
    reference, said = delivery(body)
    inbox.setdefault(number, queue.Queue()).put(said)
    more = "In-Reply-To: %s\r\n" % call_id
    threading.Thread(target=request, daemon=True,
                     args=("MESSAGE", number, acknowledgement(reference), more)).start()


def request(method, number, body, more):
    global count
    with lock:
        count += 1
        at = count
    call_id = "t%d@terminals" % at
    answers[call_id] = queue.Queue()
    reports.setdefault(call_id, queue.Queue())
    name = "sip:" + domain if method == "REGISTER" else identity(centre)
    to = identity(number) if method == "REGISTER" else name
    head = ("%s %s SIP/2.0\r\nVia: SIP/2.0/UDP %s;branch=z9hG4bK%d\r\nMax-Forwards: 70\r\n"
            "From: <%s>;tag=t%d\r\nTo: <%s>\r\nCall-ID: %s\r\nCSeq: %d %s\r\n"
            "P-Asserted-Identity: <%s>\r\n%sContent-Length: %d\r\n\r\n") % (
        method, name, own, at, identity(number), at, to, call_id, at, method, identity(number),
        more + ("Content-Type: %s\r\n" % RP_TYPE if body else ""), len(body))
    for _ in range(8):
        link.sendto(head.encode() + body, pair(scscf))
        try:
            return answers[call_id].get(timeout=4), call_id
        except queue.Empty:
            continue
    return 408, call_id


def register(number, seconds):
    more = ("Contact: <sip:%s@%s>;+g.3gpp.smsip\r\nExpires: %s\r\nPath: <sip:%s;lr>\r\n"
            "Authorization: Digest username=\"%s@%s\", realm=\"%s\", nonce=\"\", uri=\"sip:%s\", "
            "response=\"\"\r\nSupported: path\r\n") % (
        number, own, seconds, own, number, domain, domain, domain)
    return {"status": request("REGISTER", number, b"", more)[0]}


def obey(line):
    word, *rest = line.split(" ")
    if word == "register":
        return register(*rest)
    if word == "take":
        return inbox.setdefault(rest[0], queue.Queue()).get(timeout=LONG)
    body = submission(centre, rest[1], rest[2], "plain", " ".join(rest[3:]))
    status, call_id = request("MESSAGE", rest[0], body, "")
    if status >= 300:
        return {"status": status}
    return {"status": status, "report": reports[call_id].get(timeout=LONG)}


threading.Thread(target=run, daemon=True).start()
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps(obey(line.rstrip("\n"))), flush=True)
