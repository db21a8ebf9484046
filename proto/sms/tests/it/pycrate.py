# pycrate 0.8.1 as the other end: reads a request a line, answers a line.
#
#   read CLASS HEX         ours, written again by it; the address and the text that it finds
#   make CLASS SEED        a message of its own; the address and the text that it put there
import logging
import os
import random
import sys
import time

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))
from pycrate_mobile import TS23040_SMS, TS24011_PPSMS  # noqa: E402

logging.disable(logging.CRITICAL)
FLAGS = ("TP_RP", "TP_SRI", "TP_SRR", "TP_SRQ", "TP_LP", "TP_MMS", "TP_RD")
OCTETS = ("TP_MR", "TP_MN")
NAMED = {"TP_FCS": TS23040_SMS._TP_FCS_dict, "TP_ST": TS23040_SMS._TP_ST_dict,
         "TP_CT": {0: "", 1: "", 2: "", 3: ""}}
LETTERS = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCXYZÄÖÑÜ§¿abcxyzäöñüà^{}\\[~]|€"


def made(name):
    return getattr(TS24011_PPSMS, name, None) or getattr(TS23040_SMS, name)


def names(message):
    return [it._name for it in message._content]


def number(message):
    for name in ("TP_OA", "TP_DA", "TP_RA"):
        if name in names(message):
            return message[name]["Num"].decode()
    return ""


def text(message):
    if "TP_UD" not in names(message) or message["TP_UD"].get_trans():
        return ""
    value = message["TP_UD"]["UD"].decode()
    return value.hex() if isinstance(value, bytes) else value


def tell(message):
    return "%s %s %s" % (
        message.to_bytes().hex(), number(message).encode().hex() or "-",
        text(message).encode("utf-16", "surrogatepass").hex() or "-")


def stamp(element, draw):
    element.encode(time.gmtime(draw.randrange(946684800, 4102444800)),
                   draw.choice([-2.25, -1.0, 0.0, 0.25, 2.0]))


def header(draw):
    elements = [
        {"T": 0, "V": {"MsgRef": draw.randrange(256), "MsgParts": 3, "MsgNum": 2}},
        {"T": 1, "V": {"Store": 1, "ProfileID": 2, "MsgType": draw.randrange(4), "MsgCnt": 9}},
        {"T": 4, "V": {"Dest": draw.randrange(256), "Origin": 240}},
        {"T": 5, "V": {"Dest": draw.randrange(65536), "Origin": 9200}},
        {"T": 8, "V": {"MsgRef": draw.randrange(65536), "MsgParts": 2, "MsgNum": 1}},
        {"T": 10, "V": {"StartPos": 1, "Len": 2, "FmtMode": draw.randrange(256), "Colour": 7}},
        {"T": 20, "V": {"Ref": 1, "Type": 9, "Pos": 513, "Data": b"\1\2\3"}},
        {"T": 112, "V": b"\7\7"},
    ]
    return {"UDH": {"UDH": draw.sample(elements, draw.randrange(1, 3))}}


def user_data(message, draw):
    has = draw.random() < 0.5
    message["TP_UDHI"].set_val(int(has))
    message["TP_UD"].set_val(header(draw) if has else {})
    letters = "".join(draw.choice(LETTERS) for _ in range(draw.randrange(60)))
    if message["TP_UD"].get_dcs() == TS23040_SMS.DCS_8B:
        message["TP_UD"]["UD"].set_val(letters.encode())
    else:
        message["TP_UD"]["UD"].encode(letters)


def fill(message, draw):
    for name in names(message):
        element = message[name]
        if name in FLAGS:
            element.set_val(draw.randrange(2))
        elif name in OCTETS:
            element.set_val(draw.randrange(256))
        elif name in NAMED:
            element.set_val(draw.choice(list(NAMED[name])))
        elif name in ("TP_OA", "TP_DA", "TP_RA"):
            kind = draw.randrange(6)
            digits = "".join(draw.choice("0123456789*#abc") for _ in range(draw.randrange(21)))
            letters = draw.choice(["Bank", "My Shop", "12345678901"])
            element.set_val({"Type": kind, "NumberingPlan": draw.choice([0, 1, 8, 9])})
            element["Num"].encode(letters if kind == 5 else digits)
        elif name in ("TP_SCTS", "TP_DT"):
            stamp(element, draw)
        elif name == "TP_PID":
            element.from_bytes(bytes([draw.randrange(256)]))
        elif name == "TP_DCS" and not element.get_trans():
            element.set_val(draw.choice([
                {"Group": 0, "Charset": 0}, {"Group": 0, "Charset": 1}, {"Group": 0, "Charset": 2},
                {"Group": 1, "Charset": 0, "Class": 2}, {"Group": 14, "Charset": 0},
                {"Group": 15, "Charset": 1, "Class": 1}]))




def validity(message, draw):
    form = draw.randrange(4)
    message["TP_VPF"].set_val(form)
    if form == 2:
        message[10].set_val(draw.randrange(256))
    elif form == 3:
        stamp(message[11], draw)
    elif form == 1:
        message[12].set_val({"VPFormat": draw.randrange(4), "spare": None})


def make(name, draw):
    message = made(name)()
    if name.startswith("RP_"):
        return make_rp(name, message, draw)
    if "TP_PI" in names(message):
        for flag in ("TP_PID", "TP_DCS", "TP_UDL"):
            message["TP_PI"][flag].set_val(draw.randrange(2))
    fill(message, draw)
    if name == "SMS_SUBMIT":
        validity(message, draw)
    if name == "SMS_COMMAND":
        message["TP_CD"]["CD"].set_val(bytes(draw.randrange(256) for _ in range(draw.randrange(40))))
    elif not message["TP_UD"].get_trans():
        user_data(message, draw)
    return message


def bcd(digits):
    number = TS24011_PPSMS.RPOriginatorAddress()["Num"]
    number.encode(digits)
    return number.to_bytes()


def make_rp(name, message, draw):
    message["Ref"].set_val(draw.randrange(256))
    for element in ("RPOriginatorAddress", "RPDestinationAddress"):
        side = "RPOriginatorAddress" if name.endswith("MT") else "RPDestinationAddress"
        if name.startswith("RP_DATA") and element == side:
            digits = "".join(draw.choice("0123456789") for _ in range(draw.randrange(1, 21)))
            message[element].set_val({"V": bytes([0x91]) + bcd(digits)})
    if name.startswith("RP_ERROR"):
        cause = draw.choice(list(TS24011_PPSMS._RPCause_dict))
        message["RPCause"].set_val({"V": bytes([cause])})
    inner = {
        "RP_DATA_MO": ("SMS_SUBMIT", "SMS_COMMAND"), "RP_DATA_MT": ("SMS_DELIVER", "SMS_STATUS_REPORT"),
        "RP_ACK_MT": ("SMS_SUBMIT_REPORT_RP_ACK",), "RP_ACK_MO": ("SMS_DELIVER_REPORT_RP_ACK",),
        "RP_ERROR_MT": ("SMS_SUBMIT_REPORT_RP_ERROR",), "RP_ERROR_MO": ("SMS_DELIVER_REPORT_RP_ERROR",),
    }.get(name)
    if inner:
        message.set_tpdu(make(draw.choice(inner), draw))
    return message


def answer(words):
    if words[0] == "make":
        return tell(make(words[1], random.Random(int(words[2]))))
    message = made(words[1])()
    message.from_bytes(bytes.fromhex(words[2]))
    return tell(message)


for line in sys.stdin:
    try:
        print(answer(line.split()), flush=True)
    except Exception as error:  # what it cannot read is an answer too
        print("! %s: %s" % (type(error).__name__, str(error).replace("\n", " ")), flush=True)
