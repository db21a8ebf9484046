"""An MSC that accepts every location update."""

import sys

sys.path.append(sys.argv[2])
from tandem_tcu import octets, serve

ACCEPT = bytes.fromhex("0100070502" "32f4510001")


def handler(link, message):
    if message["tc"] == "n-connect":
        request = octets(message)
        link.accept()
        if request[2] == 0x57:
            link.data(ACCEPT)
    elif message["tc"] == "n-disconnect":
        print(f"released: {message['cause']}", flush=True)


serve(sys.argv[1], "msc", handler)
