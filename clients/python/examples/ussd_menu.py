#!/usr/bin/env python3
"""A USSD menu: processUnstructuredSS-Request is answered by questions (unstructuredSS-Request, linked
to it) until the menu is at its end. Where a user stands is the state of the dialogue: another instance
goes on there.

    ussd_menu.py unix:var/ussd.sock
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from tandem_tcu import from_gsm7, gsm7, serve

MENU = {
    "": ("1 Balance 2 Top up", {"1": "balance", "2": "top"}),
    "balance": ("Your balance is 12.50", {}),
    "top": ("Which amount? 1: 10 2: 20", {"1": "ten", "2": "twenty"}),
    "ten": ("10 were added", {}),
    "twenty": ("20 were added", {}),
}
LATIN = "0f"


def show(dialogue, place, asked):
    """Shows a page: a question if something follows it, else the answer to the first request."""
    text, choices = MENU[place]
    string = {"ussd-DataCodingScheme": LATIN, "ussd-String": gsm7(text)}
    if choices:
        dialogue.invoke("unstructuredSS-Request", string, linked=asked)
        return dialogue.go_on(state=[place, asked])
    dialogue.result(asked, string, "processUnstructuredSS-Request")
    dialogue.end()


def handler(dialogue, message):
    if message["tc"] == "begin":
        for invoke in dialogue.invokes("processUnstructuredSS-Request")[:1]:
            return show(dialogue, "", invoke["invoke"])
        dialogue.abort()
    elif message["tc"] == "continue" and dialogue is not None:
        place, asked = dialogue.state
        for result in dialogue.results():
            said = from_gsm7(result["value"]["ussd-String"]) if "value" in result else ""
            return show(dialogue, MENU[place][1].get(said.strip(), place), asked)
    elif message["tc"] == "l-cancel" and dialogue is not None:
        dialogue.abort()  # the user has not answered


serve(sys.argv[1], "ussd", handler)
