"""The far end of the examples: a phone that asks by USSD, and an SSF with a prepaid call.

    peer.py ussd SOCKET     waits for a line between the two choices
    peer.py call SOCKET
"""

import sys

sys.path.append(sys.argv[3])
from tandem_tcu import Connection, ber, from_gsm7, gsm7, within

HLR, SCF = {"pc": 3, "ssn": 147}, {"pc": 3, "ssn": 146}
OWN = {"pc": 4, "ssn": 9}
connection = Connection(sys.argv[2], "peer")


def heard():
    """The next message of the dialogue, by its handler."""
    got = []
    while not got:
        message = connection.read()
        if message["tc"] == "bye":
            sys.exit(message["why"])
        connection.handle(message, lambda dialogue, it: got.append((dialogue, it)))
        if got and got[0][1]["tc"] == "begun":
            got.clear()
    return got[0]


def shown(string):
    """What the phone shows."""
    print(from_gsm7(string["ussd-String"]), flush=True)


def ussd():
    string = {"ussd-DataCodingScheme": "0f", "ussd-String": gsm7("*100#")}
    connection.begin(HLR, OWN, "networkUnstructuredSsContext-v2", components=[
        {"invoke": 1, "operation": "processUnstructuredSS-Request", "argument": string}])
    for choice in ("2", "1"):
        dialogue, message = heard()
        asked = dialogue.invokes("unstructuredSS-Request")[0]
        assert asked["linked"] == 1, message
        shown(asked["argument"])
        sys.stdin.readline()
        dialogue.result(asked, {"ussd-DataCodingScheme": "0f", "ussd-String": gsm7(choice)})
        dialogue.go_on()
    dialogue, message = heard()
    assert message["tc"] == "end", message
    shown(message["components"][0]["value"])


def report(dialogue, seconds, invoke):
    """The call took so many seconds of what was granted."""
    time = ber("a1", ber("80", format(seconds * 10, "04x")))
    result = ber("a0", ber("a0", ber("81", "01")) + time + ber("82", "01ff"))
    dialogue.components.append({"invoke": invoke, "operation": "applyChargingReport",
                                "argument": result})
    dialogue.go_on()


def granted(dialogue):
    """The seconds that were granted."""
    for it in dialogue.invokes("applyCharging"):
        tenths = within(it["argument"]["aChBillingChargingCharacteristics"], "a0", "80")
        return int(tenths, 16) // 10
    return 0


def call():
    dp = {"serviceKey": 1, "callingPartyNumber": "8490214365", "eventTypeBCSM": "collectedInfo"}
    connection.begin(SCF, OWN, "capssf-scfGenericAC-v4", components=[
        {"invoke": 1, "operation": "initialDP", "argument": dp}])
    dialogue, message = heard()
    print(" ".join(it["operation"] for it in dialogue.invokes()), granted(dialogue), flush=True)
    for invoke in (2, 3):
        report(dialogue, 60, invoke)
        dialogue, message = heard()
        print(granted(dialogue), flush=True)
    event = {"eventTypeBCSM": "oDisconnect", "legID": {"receivingSideID": "02"}}
    dialogue.components.append({"invoke": 4, "operation": "eventReportBCSM", "argument": event})
    dialogue.end()


{"ussd": ussd, "call": call}[sys.argv[1]]()
