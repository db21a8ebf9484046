#!/usr/bin/env python3
"""A prepaid SCF (CAP phase 2 and later): a call is granted seconds from its caller's balance, again
and again until nothing is left. What a call was granted is the state of its dialogue.

    prepaid.py unix:var/scf.sock
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from tandem_tcu import ber, serve, within

SLICE_S = 60
BALANCES_S = {}  # seconds by calling party number
START_S = 150
EVENTS = [("oAnswer", "notifyAndContinue"), ("oDisconnect", "notifyAndContinue")]


def grant(dialogue, caller):
    """Grants the next seconds; whether there are some."""
    left = BALANCES_S.setdefault(caller, START_S)
    seconds = min(left, SLICE_S)
    if seconds <= 0:
        return False
    tenths = format(seconds * 10, "04x")
    characteristics = ber("a0", ber("80", tenths))  # timeDurationCharging: maxCallPeriodDuration
    dialogue.invoke("applyCharging", {
        "aChBillingChargingCharacteristics": characteristics,
        "partyToCharge": {"sendingSideID": "01"}})
    return True


def handler(dialogue, message):
    for invoke in dialogue.invokes() if dialogue else []:
        operation, argument = invoke["operation"], invoke.get("argument")
        if argument is None:  # it does not fit its type
            dialogue.reject(invoke)
            dialogue.end()
            return
        if operation == "initialDP":
            caller = argument.get("callingPartyNumber", "")
            if grant(dialogue, caller):
                dialogue.invoke("requestReportBCSMEvent", {"bcsmEvents": [
                    {"eventTypeBCSM": event, "monitorMode": mode} for event, mode in EVENTS]})
                dialogue.invoke("continue")
                dialogue.go_on(state=caller)
            else:
                dialogue.invoke("releaseCall", {"allCallSegments": "8095"})  # call rejected
                dialogue.end()
        elif operation == "applyChargingReport":
            used = int(within(argument, "a0", "a1", "80"), 16) // 10  # timeIfNoTariffSwitch
            BALANCES_S[dialogue.state] -= used
            if message["tc"] == "continue" and grant(dialogue, dialogue.state):
                dialogue.go_on()
        elif operation == "eventReportBCSM":
            print(argument["eventTypeBCSM"], BALANCES_S[dialogue.state], flush=True)


serve(sys.argv[1], "scf", handler)
