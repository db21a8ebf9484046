#!/usr/bin/env python3
"""Asks an HLR by its title where a subscriber is (sendRoutingInfoForSM), as an SMSC does.

    ask.py unix:var/smsc.sock 447700900123 4477009
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from tandem_tcu import Connection, digits, isdn, number


def main(address, msisdn, centre):
    """Prints what it is told; the status is 0 when the subscriber is known."""
    ask = {"invoke": 1, "operation": "sendRoutingInfoForSM", "argument": {
        "msisdn": isdn(msisdn), "sm-RP-PRI": True, "serviceCentreAddress": isdn(centre)}}
    connection = Connection(address, "smsc")
    connection.begin(called={"ssn": 6, "gt": msisdn}, calling={"ssn": 8, "gt": centre},
                     context="shortMsgGatewayContext-v3", components=[ask])
    while True:
        message = connection.read()
        if message["tc"] in ("begun", "n-state", "n-pcstate"):  # not of the dialogue
            continue
        for component in message.get("components", []):
            if "value" in component:
                value = component["value"]
                msc = value["locationInfoWithLMSI"]["networkNode-Number"]
                print(f"IMSI {digits(value['imsi'])} at MSC {number(msc)}")
                return 0
            if "error" in component:
                print(component["name"])
                return 1
        print(json.dumps(message))
        return 2


sys.exit(main(*sys.argv[1:]))
