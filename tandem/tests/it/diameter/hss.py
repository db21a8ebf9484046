# A home subscriber server by PyPI's python-diameter: it answers Sh of whoever is named or connects.
#
#   hss.py LISTEN PEER REALM [ADDRESS PORT]     with an address it connects to the peer
#
# Lines on standard output, each a word and an identity or a code:
#   ready                                       a peer is there
#   udr IDENTITY, snr IDENTITY                  what was asked
#   pna CODE                                    the answer to what was told
# and on standard input:
#   notify IDENTITY HOST REALM                  tells that host that the user can be reached
import os
import sys
import threading

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from diameter.message import Avp  # noqa: E402
from diameter.message.avp.grouped import UserIdentity, VendorSpecificApplicationId  # noqa: E402
from diameter.message.commands import PushNotificationRequest, UserDataRequest  # noqa: E402
from diameter.message.constants import *  # noqa: E402,F403
from diameter.node import Node  # noqa: E402
from diameter.node.application import SimpleThreadingApplication  # noqa: E402

VENDOR, SH = 10415, 16777217
NUMBERS = {"sip:alice@ims.example.org": "447700900123", "sip:bob@ims.example.org": "447700900999"}
REACHABLE = ("<Sh-Data><Sh-IMS-Data><Extension><Extension><Extension><Extension>"
             "<UEReachabilityForIP>0</UEReachabilityForIP></Extension></Extension></Extension>"
             "</Extension></Sh-IMS-Data></Sh-Data>")


def say(*words):
    print(*words, flush=True)


def answer(app, message):
    reply = app.generate_answer(message)
    reply.vendor_specific_application_id = message.vendor_specific_application_id
    reply.auth_session_state = 1
    identity = message.user_identity.public_identity
    if not isinstance(message, UserDataRequest):
        say("snr", identity)
        reply.result_code = E_RESULT_CODE_DIAMETER_SUCCESS
        return reply
    say("udr", identity)
    reply.result_code = E_RESULT_CODE_DIAMETER_SUCCESS
    number = NUMBERS.get(identity)
    found = "<MSISDN>%s</MSISDN>" % number if number else ""
    data = ("<Sh-Data><PublicIdentifiers>%s</PublicIdentifiers></Sh-Data>" % found).encode()
    reply.append_avp(Avp.new(AVP_TGPP_SH_USER_DATA, VENDOR, value=data))
    return reply


def notify(app, identity, host, realm):
    request = PushNotificationRequest()
    request.session_id = app.node.session_generator.next_id()
    request.origin_host = app.node.origin_host.encode()
    request.origin_realm = app.node.realm_name.encode()
    request.destination_host = host.encode()
    request.destination_realm = realm.encode()
    request.vendor_specific_application_id = VendorSpecificApplicationId(
        vendor_id=VENDOR, auth_application_id=SH)
    request.auth_session_state = 1
    request.user_identity = UserIdentity(public_identity=identity)
    request.append_avp(Avp.new(AVP_TGPP_SH_USER_DATA, VENDOR, value=REACHABLE.encode()))
    request.header.application_id = SH
    reply = app.send_request(request, timeout=10)
    code = reply.result_code
    if code is None:
        code = reply.experimental_result.experimental_result_code
    say("pna", code)


def main():
    listen, peer, realm, *address = sys.argv[1:]
    node = Node("hss.home", "home", ip_addresses=[listen], tcp_port=3868, vendor_ids=[VENDOR])
    node.validate_received_request_avps = False
    if address:
        known = node.add_peer("aaa://%s:%s" % (peer, address[1]), realm, ip_addresses=[address[0]],
                              is_persistent=True)
        known.reconnect_wait = 1
    else:
        known = node.add_peer("aaa://" + peer, realm)
    app = SimpleThreadingApplication(SH, is_auth_application=True, request_handler=answer)
    node.add_application(app, [known], ["home", realm, "ims.example.org"])
    node.start()
    say("listens")
    threading.Thread(target=lambda: (app.wait_for_ready(), say("ready")), daemon=True).start()
    for line in sys.stdin:
        rest = line.split()[1:]
        threading.Thread(target=notify, args=(app, *rest), daemon=True).start()


main()
