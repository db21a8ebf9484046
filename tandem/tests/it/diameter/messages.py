# A home subscriber server with an MME, or a service centre, by PyPI's python-diameter: S6c and SGd
# (TS 29.338). The library has no rows of them: AVPs are made of their codes here.
#
#   messages.py LISTEN HOST REALM
#
# Lines on standard output, each a word and what was asked or answered:
#   srr MSISDN, rdr MSISDN CAUSE, tfr IMSI TEXT     what a home subscriber server or MME is asked
#   ofr MSISDN TEXT, alr MSISDN                     what a service centre is asked
#   set WORD                                        what it was told here
#   sra IMSI HOST, sra CODE [failed, waits MWD], tfa CODE, rda CODE   the answers to what it asks
# and on standard input:
#   absent, present                                 what the home subscriber server says of users
#   congested                                       what the service centre says of the next message
#   srr MSISDN CENTRE, tfr IMSI CENTRE FROM TEXT, rdr MSISDN CENTRE CAUSE, bare MSISDN
import os
import sys
import threading

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from diameter.message import Avp  # noqa: E402
from diameter.message.avp import Avp as Plain  # noqa: E402
from diameter.message.commands import (  # noqa: E402
    MTForwardShortMessage, ReportSMDeliveryStatus, SendRoutingInfoforSM)
from diameter.message.packer import Unpacker  # noqa: E402
from diameter.node import Node  # noqa: E402
from diameter.node.application import SimpleThreadingApplication  # noqa: E402
from pycrate_mobile import TS23040_SMS as TP  # noqa: E402

VENDOR, S6C, SGD = 10415, 16777312, 16777313
SRR, ALR, RDR, OFR, TFR = 8388647, 8388648, 8388649, 8388645, 8388646
SESSION, RESULT, EXPERIMENTAL, USER_NAME = 263, 268, 297, 1
IMSI = "234150000000123"
state = {"absent": False, "congested": False}


def say(*words):
    print(*words, flush=True)


def tbcd(digits):
    digits += "f" * (len(digits) % 2)
    return bytes(int(digits[n + 1] + digits[n], 16) for n in range(0, len(digits), 2))


def digits_of(octets):
    return "".join("%x%x" % (it & 15, it >> 4) for it in octets).rstrip("f")


def avp(code, payload, must=True, vendor=VENDOR):
    if isinstance(payload, str):
        payload = payload.encode()
    if isinstance(payload, int):
        payload = payload.to_bytes(4, "big")
    if isinstance(payload, list):
        payload = b"".join(it.as_bytes() for it in payload)
    flags = (0x80 if vendor else 0) | (0x40 if must else 0)
    return Plain(code, vendor, payload, flags)


def base(code, payload):
    return avp(code, payload, vendor=0)


def within(octets):
    unpacker, found = Unpacker(octets), {}
    while not unpacker.is_done():
        one = Avp.from_unpacker(unpacker)
        found[one.code] = one.payload
    return found


def found_in(message):
    return {it.code: it.payload for it in message.avps}


def head(app, session):
    own = app.node
    application = [base(266, VENDOR), base(258, app.application_id)]
    return [base(SESSION, session), base(260, application), base(277, 1),
            base(264, own.origin_host), base(296, own.realm_name)]


def answer(app, message):
    asked, command = found_in(message), message.header.command_code
    reply = message.to_answer()
    done, more = base(RESULT, 2001), []
    if command == SRR:
        say("srr", digits_of(asked[701]))
        node = [avp(2402, "mme1.home"), avp(2408, "home", False),
                avp(1645, tbcd("447900000002"), False)]
        more = [base(USER_NAME, IMSI), avp(2401, node)]
        if state["absent"]:
            done = base(EXPERIMENTAL, [base(266, VENDOR), base(298, 5550)])
            # The mobile is not reachable, and has no memory (MWD-Status).
            more = [avp(3322, 11, False), avp(3312, 6, False)]
    elif command == RDR:
        outcome = within(within(asked[3316])[3320])
        say("rdr", digits_of(within(asked[3102])[701]), int.from_bytes(outcome[3321], "big"))
    elif command == ALR:
        say("alr", digits_of(within(asked[3102])[701]))
    else:
        tpdu = TP.SMS_SUBMIT() if command == OFR else TP.SMS_DELIVER()
        tpdu.from_bytes(asked[3301])
        user = within(asked[3102])[701] if command == OFR else asked[USER_NAME]
        user = digits_of(user) if command == OFR else user.decode()
        say("ofr" if command == OFR else "tfr", user, tpdu["TP_UD"]["UD"].decode())
        if state["congested"]:
            state["congested"] = False
            done = base(EXPERIMENTAL, [base(266, VENDOR), base(298, 5555)])
            more = [avp(3303, [avp(3304, 4)])]
    first, *rest = head(app, asked[SESSION])
    for one in [first, done] + rest + more:
        reply.append_avp(one)
    return reply


def ask(app, kind, avps):
    request = kind()
    request.header.is_request = request.header.is_proxyable = True
    request.destination_realm = b"ims.example.org"
    session = app.node.session_generator.next_id()
    to = [base(293, "sms1.ims.example.org"), base(283, "ims.example.org")]
    for one in head(app, session) + to + avps:
        request.append_avp(one)
    answered = found_in(app.send_request(request, timeout=60))
    if RESULT in answered:
        return int.from_bytes(answered[RESULT], "big"), answered
    code = within(answered[EXPERIMENTAL])[298]
    return int.from_bytes(code, "big"), answered


def obey(apps, word, rest):
    if word in ("srr", "bare"):
        centre = [avp(3300, tbcd(rest[1]))] if word == "srr" else []
        avps = [avp(701, tbcd(rest[0]))] + centre
        code, answered = ask(apps[S6C], SendRoutingInfoforSM, avps)
        if code == 2001:
            node = within(answered[2401])
            name = node.get(3101, node.get(2402, b"")).decode()
            return say("sra", answered[USER_NAME].decode(), name)
        waits = ["waits", int.from_bytes(answered[3312], "big")] if 3312 in answered else []
        return say("sra", code, *(["failed"] if 279 in answered else waits))
    if word == "rdr":
        user = avp(3102, [avp(701, tbcd(rest[0]))])
        outcome = avp(3316, [avp(3320, [avp(3321, int(rest[2]), False)], False)], False)
        avps = [user, avp(3300, tbcd(rest[1])), outcome]
        return say("rda", ask(apps[S6C], ReportSMDeliveryStatus, avps)[0])
    tpdu = TP.SMS_DELIVER()
    tpdu["TP_OA"]["Num"].encode(rest[2])
    tpdu["TP_UD"]["UD"].encode(" ".join(rest[3:]))
    avps = [base(USER_NAME, rest[0]), avp(3300, tbcd(rest[1])), avp(3301, tpdu.to_bytes())]
    say("tfa", ask(apps[SGD], MTForwardShortMessage, avps)[0])


def main():
    listen, host, realm = sys.argv[1:]
    node = Node(host, realm, ip_addresses=[listen], tcp_port=3868, vendor_ids=[VENDOR])
    node.validate_received_request_avps = False
    known = node.add_peer("aaa://sms1.ims.example.org", "ims.example.org")
    apps = {}
    for number in (S6C, SGD):
        app = SimpleThreadingApplication(number, is_auth_application=True, request_handler=answer)
        node.add_application(app, [known], [realm, "ims.example.org"])
        apps[number] = app
    node.start()
    say("listens")
    for line in sys.stdin:
        word, *rest = line.split()
        if word in ("absent", "present"):
            state["absent"] = word == "absent"
            say("set", word)
        elif word == "congested":
            state["congested"] = True
            say("set", word)
        else:
            threading.Thread(target=obey, args=(apps, word, rest), daemon=True).start()


main()
