"""A location update as a BSC opens it: a connection of class 2 to an MSC (TS 48.008, TS 24.008).

    python3 bsc.py ADDRESS MSC OWN IMSI

MSC and OWN are point codes; both sides have the subsystem 254. It prints what the MSC answers.
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tandem_tcu import Closed, Connection, octets, tbcd

LAI = bytes.fromhex("32f4510001")
ANSWERS = {2: "LOCATION UPDATING ACCEPT", 4: "LOCATION UPDATING REJECT", 24: "IDENTITY REQUEST"}


def location_updating_request(imsi):
    identity = bytes([int(imsi[0]) << 4 | 9]) + bytes.fromhex(tbcd(imsi[1:]))
    return bytes([5, 8, 0x70]) + LAI + bytes([0x33, len(identity)]) + identity


def complete_layer_3(message):
    cell = bytes([5, 8, 0]) + LAI + bytes([0, 1])
    body = bytes([0x57]) + cell + bytes([0x17, len(message)]) + message
    return bytes([0, len(body)]) + body


def handler(link, message):
    if message["tc"] == "n-connected":
        print("connected", flush=True)
    elif message["tc"] == "n-data":
        data = octets(message)
        if data[0] == 1:  # DTAP: DLCI, length, and the message of the mobile station
            print(ANSWERS.get(data[4], data.hex()), flush=True)
        link.disconnect()
        raise Closed("done")
    elif message["tc"] in ("n-disconnect", "refused"):
        why = "refused" if message.get("refused") else "released"
        raise Closed(f"{why}: {message.get('cause', message.get('why'))}")


def main(address, msc, own, imsi):
    connection = Connection(address, "bsc")
    at = [{"pc": int(it), "ssn": 254} for it in (msc, own)]
    connection.connect(*at, complete_layer_3(location_updating_request(imsi)))
    try:
        connection.run(handler)
    except Closed as why:
        print(why)


main(*sys.argv[1:])
