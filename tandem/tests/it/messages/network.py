# The SS7 network of the tests: an HLR, a service centre and an MSC, applications of a signalling
# gateway. Reads a command a line, answers with an object of JSON a line.
#
#   deliver TO FROM TEXT   sendRoutingInfoForSM and mt-ForwardSM: what came of both
#   routing TO             sendRoutingInfoForSM alone
#   took WHO               what the service centre (smsc) or the MSC (msc) was given next
#   told                   what the HLR was told since it was asked for that
#   subscriber on|off      whether the HLR knows where the subscriber is
#   smsc ok|silent         whether the service centre answers; it has what it was given all the same
#
# Arguments: the directory of the client, the directory of the sockets.
import json
import os
import queue
import sys
import threading

sys.path.append(sys.argv[1])
cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))
from pycrate_mobile import TS23040_SMS as TP  # noqa: E402
from tandem_tcu import Connection, digits, isdn, number, tbcd  # noqa: E402

LONG = 60
CENTRE, MSC, IMSI = "447800000009", "447700000001", "234150000000123"
taken = {"smsc": queue.Queue(), "msc": queue.Queue()}
told, state = [], {"subscriber": "on", "smsc": "ok"}
held = set()  # what the service centre has
# SMS-SUBMIT-REPORT: duplicate SM rejected (TS 23.040, 9.2.3.22)
DUPLICATE = {"sm-EnumeratedDeliveryFailureCause": "invalidSME-Address",
             "diagnosticInfo": "01c50062117200402440"}
answers = {}
gate = threading.Lock()


def hlr(dialogue, message):
    if message["tc"] != "begin":
        return
    for invoke in dialogue.invokes():
        what = invoke["operation"]
        told.append(what)
        if what != "sendRoutingInfoForSM":
            dialogue.result(invoke)
        elif state["subscriber"] == "on":
            location = {"networkNode-Number": isdn(MSC)}
            value = {"imsi": tbcd(IMSI), "locationInfoWithLMSI": location}
            dialogue.result(invoke, value)
        else:
            dialogue.error(invoke, "absentSubscriberSM")
    dialogue.end()


def takes(who):
    def handler(dialogue, message):
        with gate:
            answer = answers.get(dialogue)
        if message["tc"] in ("begin", "continue") and answer is None:
            return given(who, dialogue)
        if answer is not None and message["tc"] != "begun":
            answer.put(message)
    return handler


def given(who, dialogue):
    invokes = dialogue.invokes()
    if not invokes:
        return dialogue.go_on()  # a long message follows
    for invoke in invokes:
        if invoke["operation"] == "alertServiceCentre":
            taken[who].put({"operation": invoke["operation"]})
            dialogue.result(invoke)
            continue
        data = bytes.fromhex(invoke["argument"]["sm-RP-UI"])
        tpdu = TP.SMS_SUBMIT() if who == "smsc" else TP.SMS_DELIVER()
        tpdu.from_bytes(data)
        whose = invoke["argument"]["sm-RP-OA" if who == "smsc" else "sm-RP-DA"]
        name, value = next(iter(whose.items()))
        value = digits(value) if name == "imsi" else number(value)
        given = {"operation": invoke["operation"], name: value,
                 "text": tpdu["TP_UD"]["UD"].decode()}
        # TP-RD (TS 23.040, 9.2.3.25); the bit is TP-MMS of what goes to a terminal.
        if who == "smsc" and data[0] & 4:
            given["rejects"] = "duplicates"
        taken[who].put(given)
        known = (value, data[1], data[2:])
        if who == "smsc" and state["smsc"] == "silent":
            held.add(known)
            return
        if "rejects" in given and known in held:
            dialogue.error(invoke, "sm-DeliveryFailure", DUPLICATE)
            continue
        held.add(known)
        dialogue.result(invoke)
    dialogue.end()


def asks(called, ssn, context, operation, argument):
    """What comes of an operation: the components of the answer, or how the dialogue ended."""
    invoke = {"invoke": 1, "operation": operation, "argument": argument}
    with gate:
        dialogue = centre.begin(called={"ssn": ssn, "gt": called}, context=context,
                                calling={"ssn": 9, "gt": CENTRE}, components=[invoke])
        answers[dialogue] = queue.Queue()
    while True:
        message = answers[dialogue].get(timeout=LONG)
        if message["tc"] == "continue":
            dialogue.go_on()
            continue
        for component in message.get("components", []):
            return component
        return {"ended": message["tc"]}


def routing(to):
    argument = {"msisdn": isdn(to), "sm-RP-PRI": True, "serviceCentreAddress": isdn(CENTRE)}
    answer = asks(to, 6, "shortMsgGatewayContext-v3", "sendRoutingInfoForSM", argument)
    if "value" not in answer:
        return answer
    value = answer["value"]
    node = value["locationInfoWithLMSI"]["networkNode-Number"]
    return {"imsi": digits(value["imsi"]), "node": number(node)}


def deliver(to, of, text):
    found = routing(to)
    if "imsi" not in found:
        return {"routing": found}
    tpdu = TP.SMS_DELIVER()
    tpdu["TP_OA"]["Num"].encode(of)
    tpdu["TP_UD"]["UD"].encode(text)
    argument = {"sm-RP-DA": {"imsi": tbcd(found["imsi"])},
                "sm-RP-OA": {"serviceCentreAddressOA": isdn(CENTRE)},
                "sm-RP-UI": tpdu.to_bytes().hex()}
    answer = asks(found["node"], 8, "shortMsgMT-RelayContext-v3", "mt-ForwardSM", argument)
    return {"routing": found, "delivery": answer}


def obey(line):
    word, *rest = line.split(" ")
    if word == "deliver":
        return deliver(rest[0], rest[1], " ".join(rest[2:]))
    if word == "routing":
        return routing(rest[0])
    if word == "took":
        return taken[rest[0]].get(timeout=LONG)
    if word == "told":
        told[:], was = [], list(told)
        return {"told": was}
    state[word] = rest[0]
    return {}


def connected(name, handler):
    connection = Connection("unix:%s/%s.sock" % (sys.argv[2], name), name)
    threading.Thread(target=connection.run, args=(handler,), daemon=True).start()
    return connection


connected("hlr", hlr)
connected("msc", takes("msc"))
centre = connected("smsc", takes("smsc"))
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps(obey(line.rstrip("\n"))), flush=True)
