#!/usr/bin/env python3
"""An HLR whose subscribers are the rows of a CSV file: msisdn,imsi,msc,msrn.

    hlr.py unix:var/hlr.sock subscribers.csv
"""

import csv
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from tandem_tcu import isdn, number, serve, tbcd


def answer(dialogue, invoke, subscribers):
    argument = invoke.get("argument")
    if not isinstance(argument, dict) or "msisdn" not in argument:
        return dialogue.error(invoke, "dataMissing")
    found = subscribers.get(number(argument["msisdn"]))
    if found is None:
        return dialogue.error(invoke, "unknownSubscriber")
    imsi = tbcd(found["imsi"])
    if invoke["operation"] == "sendRoutingInfoForSM":
        if not found["msc"]:
            return dialogue.error(invoke, "absentSubscriberSM")
        location = {"networkNode-Number": isdn(found["msc"])}
        return dialogue.result(invoke, {"imsi": imsi, "locationInfoWithLMSI": location})
    if invoke["operation"] == "sendRoutingInfo":
        if not found["msrn"]:
            return dialogue.error(invoke, "absentSubscriber")
        routing = {"routingInfo": {"roamingNumber": isdn(found["msrn"])}}
        return dialogue.result(invoke, {"imsi": imsi, "extendedRoutingInfo": routing})
    return dialogue.error(invoke, "facilityNotSupported")


def main(address, file, *group):
    with open(file, newline="") as rows:
        subscribers = {row["msisdn"]: row for row in csv.DictReader(rows)}

    def handler(dialogue, message):
        if message["tc"] != "begin":
            return
        if dialogue.context and not dialogue.context.endswith("-v3"):
            return dialogue.abort(context=dialogue.context[:-1] + "3")
        for invoke in dialogue.invokes():
            answer(dialogue, invoke, subscribers)
        dialogue.end()

    print(f"{len(subscribers)} subscribers", flush=True)
    serve(address, "hlr", handler, group="".join(group))


main(*sys.argv[1:])
