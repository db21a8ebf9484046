"""A home subscriber server on Cx (TS 29.228, 29.229), by PyPI's python-diameter: vectors of AKA by
Milenage (TS 35.206), and the profile of whoever is registered. Its Diameter identity, and that of
the S-CSCF, are addresses.

    hss.py LISTEN PORT S-CSCF REALM APPLICATION IMPI,IMPU,K,OPC ...

APPLICATION is the URI of an application server that registrations and messages go to, or `none`.

A line on standard output for each request; `listens`, and `connected` once the S-CSCF is.
"""

import os
import sys
import threading

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from diameter.message import Avp
from diameter.message.avp.grouped import ExperimentalResult
from diameter.message.commands import MultimediaAuthRequest
from diameter.message.constants import *
from diameter.node import Node
from diameter.node.application import SimpleThreadingApplication

VENDOR = 10415
CX = 16777216


def xor(one, other):
    return bytes(a ^ b for a, b in zip(one, other))


class Card:
    """A subscription as its home has it."""

    def __init__(self, text):
        self.impi, self.impu, key, opc = text.split(",")
        key, self.opc = bytes.fromhex(key), bytes.fromhex(opc)
        self.cipher = Cipher(algorithms.AES(key), modes.ECB())
        self.seq = 0

    def encrypt(self, block):
        context = self.cipher.encryptor()
        return context.update(block) + context.finalize()

    def out(self, rand, number):
        """OUT2 to OUT5 of TS 35.206 §4.1: rotated by r, with the constant c."""
        rotate, constant = {2: (0, 1), 3: (4, 2), 4: (8, 4), 5: (12, 8)}[number]
        temp = xor(self.encrypt(xor(rand, self.opc)), self.opc)
        block = temp[rotate:] + temp[:rotate]
        block = xor(block, bytes(15) + bytes([constant]))
        return xor(self.encrypt(block), self.opc)

    def f1(self, rand, sqn, amf):
        """MAC-A, and MAC-S behind it."""
        temp = self.encrypt(xor(rand, self.opc))
        block = xor((sqn + amf) * 2, self.opc)
        block = xor(temp, block[8:] + block[:8])
        return xor(self.encrypt(block), self.opc)

    def vector(self):
        """RAND, AUTN, XRES, CK, IK of the next sequence number."""
        self.seq += 1
        rand, sqn, amf = os.urandom(16), (self.seq << 5).to_bytes(6, "big"), b"\x80\x00"
        second = self.out(rand, 2)
        concealed = xor(sqn, second[:6])
        autn = concealed + amf + self.f1(rand, sqn, amf)[:8]
        return rand, autn, second[8:], self.out(rand, 3), self.out(rand, 4)

    def resynchronise(self, rand, auts):
        """Goes on from the card's number, if the card says so (TS 33.102 §6.3.5)."""
        sqn = xor(auts[:6], self.out(rand, 5)[:6])
        if self.f1(rand, sqn, bytes(2))[8:] != auts[6:14]:
            return False
        self.seq = max(self.seq, int.from_bytes(sqn, "big") >> 5)
        return True


def criteria(card, server):
    """The filter criteria (TS 29.228 annex B): a registration or a message is of interest, and the
    application server is told the number."""
    if server == "none":
        return ""
    number = "".join(it for it in card.impu.split("@")[0] if it.isdigit())
    point = "".join(
        f"<SPT><ConditionNegated>0</ConditionNegated><Group>0</Group><Method>{it}</Method></SPT>"
        for it in ("REGISTER", "MESSAGE")
    )
    return (
        "<InitialFilterCriteria><Priority>1</Priority><TriggerPoint><ConditionTypeCNF>1"
        f"</ConditionTypeCNF>{point}</TriggerPoint><ApplicationServer><ServerName>{server}"
        "</ServerName><DefaultHandling>0</DefaultHandling><ServiceInfo>"
        f"{number}</ServiceInfo></ApplicationServer></InitialFilterCriteria>"
    )


def profile(card, server):
    return (
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><IMSSubscription>"
        f"<PrivateID>{card.impi}</PrivateID><ServiceProfile><PublicIdentity>"
        f"<Identity>{card.impu}</Identity></PublicIdentity>{criteria(card, server)}"
        "</ServiceProfile></IMSSubscription>"
    ).encode()


def say(*words):
    print(*words, flush=True)


class Hss(SimpleThreadingApplication):
    def __init__(self, cards, server):
        super().__init__(CX, is_auth_application=True, request_handler=self.answer)
        self.server = server
        self.cards = {card.impi: card for card in cards}
        self.lock = threading.Lock()

    def answer(self, _app, message):
        with self.lock:
            if isinstance(message, MultimediaAuthRequest):
                return self.authentication(message)
            return self.assignment(message)

    def base(self, message):
        answer = self.generate_answer(message)
        answer.vendor_specific_application_id = message.vendor_specific_application_id
        answer.auth_session_state = 1
        return answer

    def authentication(self, message):
        answer = self.base(message)
        card = self.cards.get(message.user_name)
        if card is None:
            say("MAR", message.user_name, "unknown")
            answer.experimental_result = unknown()
            return answer
        told = message.find_avps(
            (AVP_TGPP_3GPP_SIP_AUTH_DATA_ITEM, VENDOR), (AVP_TGPP_3GPP_SIP_AUTHORIZATION, VENDOR)
        )
        if told:
            told = told[0].value
            say("MAR", card.impi, "AUTS", card.resynchronise(told[:16], told[16:30]))
        rand, autn, xres, ck, ik = card.vector()
        say("MAR", card.impi, card.seq)
        parts = [
            (AVP_TGPP_3GPP_SIP_ITEM_NUMBER, 1),
            (AVP_TGPP_3GPP_SIP_AUTHENTICATION_SCHEME, "Digest-AKAv1-MD5"),
            (AVP_TGPP_3GPP_SIP_AUTHENTICATE, rand + autn),
            (AVP_TGPP_3GPP_SIP_AUTHORIZATION, xres),
            (AVP_TGPP_CONFIDENTIALITY_KEY, ck),
            (AVP_TGPP_INTEGRITY_KEY, ik),
        ]
        item = [Avp.new(code, VENDOR, value=value) for code, value in parts]
        answer.append_avp(Avp.new(AVP_TGPP_3GPP_SIP_AUTH_DATA_ITEM, VENDOR, value=item))
        answer.append_avp(Avp.new(AVP_TGPP_3GPP_SIP_NUMBER_AUTH_ITEMS, VENDOR, value=1))
        answer.append_avp(Avp.new(AVP_USER_NAME, value=card.impi))
        answer.public_identity = card.impu
        answer.result_code = E_RESULT_CODE_DIAMETER_SUCCESS
        return answer

    def assignment(self, message):
        answer = self.base(message)
        card = self.cards.get(message.user_name)
        kind = message.server_assignment_type
        if card is None:
            of_name = [it for it in self.cards.values() if it.impu == str(message.public_identity)]
            card = of_name[0] if of_name else None
        say("SAR", message.user_name, kind)
        if card is None:
            answer.experimental_result = unknown()
            return answer
        answer.user_name = card.impi
        answer.user_data = profile(card, self.server)
        answer.result_code = E_RESULT_CODE_DIAMETER_SUCCESS
        return answer


def unknown():
    return ExperimentalResult(vendor_id=VENDOR, experimental_result_code=5001)


def main():
    listen, port, scscf, realm, server, *cards = sys.argv[1:]
    node = Node(listen, realm, ip_addresses=[listen], tcp_port=int(port), vendor_ids=[VENDOR])
    # The library looks for SIP-Auth-Data-Item of RFC 4740, which TS 29.229 has another code for.
    node.validate_received_request_avps = False
    hss = Hss([Card(text) for text in cards], server)
    node.add_application(hss, [node.add_peer(f"aaa://{scscf}", realm)])
    node.start()
    say("listens")
    hss.wait_for_ready()
    say("connected")
    threading.Event().wait()


if __name__ == "__main__":
    main()
