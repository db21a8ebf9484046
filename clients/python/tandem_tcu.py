"""Applications on the TCAP of a Tandem signalling gateway: one file, no dependencies.

    import tandem_tcu

    def handler(dialogue, message):
        if message["tc"] != "begin":  # n-state, malformed, … have no dialogue: it is None
            return
        for invoke in dialogue.invokes():
            dialogue.result(invoke, {...})
        dialogue.end()

    tandem_tcu.serve("unix:/var/lib/tandem/hlr.sock", "hlr", handler)

A dialogue collects components until `go_on`, `end` or `abort` sends them. Every message is a line of
JSON with the names of ASN.1; docs/applications.md has all of them.
"""

import hashlib
import hmac
import json
import os
import socket
import ssl
import time
import traceback

VERSION = 1
LABEL = b"tcu hello\0"
# What ends a dialogue.
LAST = ("end", "u-abort", "p-abort")


class Closed(Exception):
    """The connection is over: why."""


class Dialogue:
    """A dialogue: what came last, and what is to be sent."""

    def __init__(self, connection, number):
        self.connection, self.number = connection, number
        self.called = self.calling = self.context = self.state = None
        self.components, self.came, self.is_over, self._next = [], [], False, 0

    def invokes(self, operation=None):
        """The operations of the peer that came last."""
        return [it for it in self.came if "invoke" in it and operation in (None, it["operation"])]

    def results(self):
        """The results, errors and rejects that came last."""
        return [it for it in self.came if "invoke" not in it]

    def invoke(self, operation, argument=None, linked=None, **more):
        """Asks for an operation; its invoke identifier."""
        self._next = self._next % 127 + 1
        it = {"invoke": self._next, "operation": operation, **more}
        if argument is not None:
            it["argument"] = argument
        if linked is not None:
            it["linked"] = linked["invoke"] if isinstance(linked, dict) else linked
        self.components.append(it)
        return self._next

    def result(self, invoke, value=None, operation=None):
        """Answers an operation of the peer, or one by its identifier and name."""
        number = invoke["invoke"] if isinstance(invoke, dict) else invoke
        operation = operation or (invoke["operation"] if isinstance(invoke, dict) else None)
        it = {"result": number}
        if value is not None:
            it.update(operation=operation, value=value)
        self.components.append(it)

    def error(self, invoke, name, parameter=None):
        """An operation of the peer fails."""
        number = invoke["invoke"] if isinstance(invoke, dict) else invoke
        it = {"error": number, "name": name}
        if parameter is not None:
            it["parameter"] = parameter
        self.components.append(it)

    def reject(self, invoke, problem="invoke/mistypedParameter"):
        """A component of the peer is not understood."""
        self.components.append({"reject": invoke["invoke"], "problem": problem})

    def _send(self, what, **more):
        if self.components:
            more["components"], self.components = self.components, []
        self.connection.send(tc=what, dialogue=self.number, **more)

    def go_on(self, state=None, **more):
        """TC-CONTINUE. With a state (anything that JSON has, 256 octets) another instance can go on
        with the dialogue when this one dies."""
        if state is not None:
            self.state = state
            more["state"] = json.dumps(state, separators=(",", ":")).encode().hex()
        self._send("continue", **more)

    def end(self, prearranged=False, **more):
        """TC-END."""
        self._over()
        self._send("end", **({"prearranged": True} if prearranged else {}), **more)

    def abort(self, context=None):
        """TC-U-ABORT; a context refuses the dialogue and names one that may be used."""
        self._over()
        self.components = []
        self._send("u-abort", **({"context": context} if context else {}))

    def cancel(self, invoke):
        """TC-U-CANCEL."""
        self._send("u-cancel", invoke=invoke)

    def _over(self):
        self.is_over = True
        self.connection.dialogues.pop(self.number, None)


class Link:
    """A connection of classes 2 and 3, of an application whose subsystem has `user = "sccp"`. A
    handler is given it in the place of a dialogue; `octets(message)` is what came."""

    def __init__(self, connection, number=None):
        self.connection, self.number, self.is_over = connection, number, False

    def _send(self, what, data=b"", **more):
        if data:
            more["data"] = data.hex()
        self.connection.send(tc=what, connection=self.number, **more)

    def accept(self, data=b"", **more):
        """N-CONNECT response."""
        self._send("n-accept", data, **more)

    def data(self, data):
        """N-DATA."""
        self._send("n-data", data)

    def expedited(self, data):
        """N-EXPEDITED-DATA, class 3."""
        self._send("n-expedited-data", data)

    def reset(self, cause=0):
        """N-RESET, class 3."""
        self._send("n-reset", cause=cause)

    def reset_response(self):
        """Answers an N-RESET."""
        self._send("n-reset-response")

    def disconnect(self, cause=3, data=b""):
        """N-DISCONNECT: 3 is *SCCP user originated*."""
        self._over()
        self._send("n-disconnect", data, cause=cause)

    def _over(self):
        self.is_over = True
        self.connection.links.pop(self.number, None)


def octets(message):
    """What a message of the network service carries."""
    return bytes.fromhex(message.get("data", ""))


class Connection:
    """A connection to a gateway, greeted."""

    def __init__(self, address, application, group="", instance=None, key=None, tls=None):
        kind, _, place = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_connection((host.strip("[]"), int(port)))
        if kind == "tls":
            context = tls or ssl.create_default_context()
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self.reader = self.socket.makefile("rb")
        self.dialogues, self.begins, self._reference = {}, {}, 0
        self.links, self.asked = {}, {}
        names = (application, group, instance or f"{socket.gethostname()}-{os.getpid()}")
        hello = dict(zip(("application", "group", "instance"), names))
        self.send(tc="hello", version=VERSION, **hello)
        answer = self.read()
        if answer["tc"] == "challenge":
            if key is None:
                raise Closed("the gateway wants a key")
            text = LABEL + bytes.fromhex(answer["nonce"])
            text += b"".join(b"\0" + it.encode() for it in names)
            proof = hmac.new(key.encode(), text, hashlib.sha256).hexdigest()
            self.send(tc="hello", version=VERSION, proof=proof, **hello)
            answer = self.read()
        if answer["tc"] != "welcome":
            raise Closed(answer.get("why") or answer.get("what"))
        self.welcome = answer

    def send(self, **message):
        """Sends a message."""
        self.socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def read(self):
        """The next message."""
        line = self.reader.readline()
        if not line:
            raise Closed("the gateway has closed the connection")
        return json.loads(line)

    def begin(self, called, calling, context, state=None, **more):
        """TC-BEGIN. Fill the dialogue before: `begin` sends what `components` gives."""
        self._reference += 1
        dialogue = Dialogue(self, None)
        dialogue.called, dialogue.calling, dialogue.context = called, calling, context
        self.begins[self._reference] = dialogue
        if state is not None:
            dialogue.state = state
            more["state"] = json.dumps(state, separators=(",", ":")).encode().hex()
        self.send(tc="begin", reference=self._reference, called=called, calling=calling,
                  context=context, **more)
        return dialogue

    def connect(self, called, calling, data=b"", class_=2):
        """N-CONNECT; the link has its number when `n-connecting` comes."""
        self._reference += 1
        link = self.asked[self._reference] = Link(self)
        more = {"data": data.hex()} if data else {}
        more["class"] = class_
        self.send(tc="n-connect", reference=self._reference, called=called, calling=calling, **more)
        return link

    def unitdata(self, called, calling, data, returns=False):
        """N-UNITDATA."""
        more = {"return": True} if returns else {}
        self.send(tc="n-unitdata", called=called, calling=calling, data=data.hex(), **more)

    def _link(self, message):
        """The link that a message is of."""
        what, number = message["tc"], message.get("connection")
        if what == "n-connecting":
            link = self.links[number] = self.asked.pop(message["reference"])
            link.number = number
        elif what in ("n-connect", "n-resume"):
            link = self.links[number] = Link(self, number)
        elif "reference" in message:
            link = self.asked.pop(message["reference"], None)
        else:
            link = self.links.get(number)
        if link is not None and what == "n-disconnect":
            link._over()
        return link

    def take_no_more(self):
        """No new dialogues come: to end once those that stand are over."""
        self.send(tc="n-state", in_service=False)

    def handle(self, message, handler):
        """Finds the dialogue of a message, and gives both to the handler."""
        what, number = message["tc"], message.get("dialogue")
        if what.startswith("n-") or message.get("reference") in self.asked:
            return handler(self._link(message), message)
        if what == "begun":
            dialogue = self.begins.pop(message["reference"])
            dialogue.number = number
            self.dialogues[number] = dialogue
        elif what in ("begin", "resume"):
            dialogue = self.dialogues[number] = Dialogue(self, number)
            dialogue.called = message.get("called") or message.get("own")
            dialogue.calling = message.get("calling") or message.get("peer")
            dialogue.context = message.get("context")
            state = bytes.fromhex(message.get("state", ""))
            dialogue.state = json.loads(state) if state else None
        elif what == "refused" and "reference" in message:
            dialogue = self.begins.pop(message["reference"], None)
        else:
            dialogue = self.dialogues.get(number)
            if what == "refused" and message["why"] == "unknown dialogue" and dialogue:
                dialogue._over()
        if dialogue is not None:
            dialogue.came = message.get("components", [])
            if what in LAST:
                dialogue._over()
        handler(dialogue, message)

    def run(self, handler):
        """Gives every message to the handler, with its dialogue if it has one, until the end."""
        while True:
            message = self.read()
            if message["tc"] == "bye":
                raise Closed(message["why"])
            try:
                self.handle(message, handler)
            except (OSError, Closed):
                raise
            except Exception:  # one message is no reason to lose all other dialogues
                traceback.print_exc()
                dialogue = self.dialogues.get(message.get("dialogue"))
                if dialogue is not None:
                    dialogue.abort()
                link = self.links.get(message.get("connection"))
                if link is not None:
                    link.disconnect()


def serve(address, application, handler, again_s=1.0, **more):
    """Serves for ever: connects, and connects again when the connection is over."""
    while True:
        try:
            Connection(address, application, **more).run(handler)
        except (OSError, Closed) as why:
            print(f"{application}: {why}; again in {again_s} s", flush=True)
            time.sleep(again_s)


# Words of MAP and CAP.


def tbcd(digits):
    """Digits two in an octet, the first one low (TS 29.002, TBCD-STRING), as hexadecimal digits."""
    digits += "f" * (len(digits) % 2)
    return "".join(digits[n + 1] + digits[n] for n in range(0, len(digits), 2))


def digits(octets):
    """The digits of a TBCD-STRING."""
    pairs = (octets[n + 1] + octets[n] for n in range(0, len(octets), 2))
    return "".join(pairs).rstrip("f")


def isdn(number):
    """An international E.164 number as ISDN-AddressString."""
    return "91" + tbcd(number)


def number(octets):
    """The digits of an AddressString."""
    return digits(octets[2:])


def gsm7(text):
    """A text of a USSD string: letters of ASCII that GSM 7 bit has alike (TS 23.038 §6.1.2.3)."""
    bits = "".join(format(ord(it) & 127, "07b")[::-1] for it in text)
    if len(bits) % 8 == 1:
        bits += "1011000"  # a carriage return fills seven bits that would be an @
    bits += "0" * (-len(bits) % 8)
    return "".join(format(int(bits[n:n + 8][::-1], 2), "02x") for n in range(0, len(bits), 8))


def from_gsm7(octets):
    """The text of a USSD string."""
    bits = "".join(format(it, "08b")[::-1] for it in bytes.fromhex(octets))
    letters = (bits[n:n + 7][::-1] for n in range(0, len(bits) - 6, 7))
    return "".join(chr(int(it, 2)) for it in letters).rstrip("\0\r")


def ber(tag, contents):
    """An element: tag octet and contents, both hexadecimal digits; up to 127 octets."""
    return tag + format(len(contents) // 2, "02x") + contents


def within(octets, *tags):
    """The contents of the element that these tag octets lead to, from the outside in."""
    for tag in tags:
        place = 0
        while octets[place:place + 2] != tag:
            place += 4 + 2 * int(octets[place + 2:place + 4], 16)
        length = 2 * int(octets[place + 2:place + 4], 16)
        octets = octets[place + 4:place + 4 + length]
    return octets
