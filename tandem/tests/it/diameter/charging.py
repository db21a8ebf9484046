# An online charging system by PyPI's python-diameter: it answers Ro (RFC 8506, TS 32.299) with the
# commands that the library itself has.
#
#   charging.py LISTEN HOST REALM
#
# Lines on standard output, each a word and what was asked or set:
#   debit MSISDN UNITS TO, refund MSISDN UNITS TO   what it is asked, and whom the message is for
#   wrong WHAT                                      something of a request that ought not to be so
#   set WORD                                        what it was told here
# and on standard input:
#   answer CODE                                     the code of the answers from now on; 0: none
import os
import sys
import time

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from diameter.message.commands import CreditControlRequest  # noqa: E402
from diameter.message.constants import *  # noqa: E402,F403
from diameter.node import Node  # noqa: E402
from diameter.node.application import SimpleThreadingApplication  # noqa: E402

RO = 4
ACTIONS = {E_REQUESTED_ACTION_DIRECT_DEBITING: "debit", E_REQUESTED_ACTION_REFUND_ACCOUNT: "refund"}
state = {"answer": E_RESULT_CODE_DIAMETER_SUCCESS}


def say(*words):
    print(*words, flush=True)


def wrong_of(message):
    expected = [
        ("auth_application_id", RO), ("service_context_id", "32274@3gpp.org"),
        ("cc_request_type", E_CC_REQUEST_TYPE_EVENT_REQUEST), ("cc_request_number", 0),
    ]
    return [name for name, value in expected if getattr(message, name) != value]


def answer(app, message):
    if not isinstance(message, CreditControlRequest):
        say("wrong", type(message).__name__)
    for name in wrong_of(message):
        say("wrong", name, getattr(message, name))
    user = next(it for it in message.subscription_id
                if it.subscription_id_type == E_SUBSCRIPTION_ID_TYPE_END_USER_E164)
    service = message.multiple_services_credit_control[0]
    units = service.requested_service_unit.cc_service_specific_units
    sms = message.service_information.sms_information
    to = sms.recipient_info[0].recipient_address[0].address_data
    say(ACTIONS[message.requested_action], user.subscription_id_data, units, to)
    if state["answer"] == 0:
        time.sleep(60)
    reply = app.generate_answer(message)
    reply.result_code = state["answer"]
    reply.cc_request_type = message.cc_request_type
    reply.cc_request_number = message.cc_request_number
    reply.auth_application_id = RO
    return reply


def main():
    listen, host, realm = sys.argv[1:]
    node = Node(host, realm, ip_addresses=[listen], tcp_port=3868)
    known = node.add_peer("aaa://sms1.ims.example.org", "ims.example.org")
    app = SimpleThreadingApplication(RO, is_auth_application=True, request_handler=answer)
    node.add_application(app, [known], [realm, "ims.example.org"])
    node.start()
    say("listens")
    for line in sys.stdin:
        word, code = line.split()
        state[word] = int(code)
        say("set", word)


main()
