"""A peer by PyPI's python-diameter.

    peer.py server LISTEN          an HSS: it takes connections and answers UDR and MAR
    peer.py client LISTEN PEER     an application server: it connects and asks ten times

A line on standard output for each request and answer; `ready` once the peer is.
"""

import os
import sys
import threading

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from diameter.message import Avp
from diameter.message.avp.grouped import UserIdentity, VendorSpecificApplicationId
from diameter.message.commands import UserDataRequest, MultimediaAuthRequest
from diameter.message.constants import *
from diameter.node import Node
from diameter.node.application import SimpleThreadingApplication

VENDOR, CX, SH = 10415, 16777216, 16777217


def say(*words):
    print(*words, flush=True)


def answer(app, message):
    reply = app.generate_answer(message)
    reply.vendor_specific_application_id = message.vendor_specific_application_id
    reply.auth_session_state = 1
    reply.result_code = E_RESULT_CODE_DIAMETER_SUCCESS
    if isinstance(message, MultimediaAuthRequest):
        say("MAR", message.user_name)
        parts = [(AVP_TGPP_3GPP_SIP_AUTHENTICATE, bytes(32)),
                 (AVP_TGPP_3GPP_SIP_AUTHORIZATION, bytes(8))]
        item = [Avp.new(code, VENDOR, value=value) for code, value in parts]
        reply.append_avp(Avp.new(AVP_TGPP_3GPP_SIP_AUTH_DATA_ITEM, VENDOR, value=item))
    else:
        say("UDR", message.user_identity.msisdn.hex(), "T" if message.header.is_retransmit else "")
        data = b"<Sh-Data><a/></Sh-Data>"
        reply.append_avp(Avp.new(AVP_TGPP_SH_USER_DATA, VENDOR, value=data))
    return reply


def ask(app):
    for number in range(10):
        request = UserDataRequest()
        request.session_id = app.node.session_generator.next_id()
        request.origin_host = app.node.origin_host.encode()
        request.origin_realm = app.node.realm_name.encode()
        request.destination_realm = b"home"
        request.vendor_specific_application_id = VendorSpecificApplicationId(
            vendor_id=VENDOR, auth_application_id=SH)
        request.auth_session_state = 1
        request.user_identity = UserIdentity(msisdn=bytes.fromhex("94710100f0"))
        request.data_reference = [17]
        request.header.application_id = SH
        reply = app.send_request(request, timeout=10)
        data = reply.find_avps((AVP_TGPP_SH_USER_DATA, VENDOR))
        say("answer", number, reply.result_code, data[0].value.decode() if data else "-")


def main():
    role, listen, *peer = sys.argv[1:]
    identity, realm = ("hss.home", "home") if role == "server" else ("as.example", "example")
    other, other_realm = ("as.example", "example") if role == "server" else ("hss.home", "home")
    node = Node(identity, realm, ip_addresses=[listen], tcp_port=3868, vendor_ids=[VENDOR])
    node.validate_received_request_avps = False
    if peer:
        known = node.add_peer(f"aaa://{other}:3868", other_realm, ip_addresses=peer,
                              is_persistent=True)
    else:
        known = node.add_peer(f"aaa://{other}", other_realm)
    apps = [SimpleThreadingApplication(number, is_auth_application=True, request_handler=answer)
            for number in (SH, CX)]
    for app in apps:
        node.add_application(app, [known], [realm if role == "server" else other_realm])
    node.start()
    say("listens")
    apps[0].wait_for_ready()
    say("ready")
    if role == "client":
        ask(apps[0])
        say("done")
    threading.Event().wait()


if __name__ == "__main__":
    main()
