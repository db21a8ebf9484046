# pycrate 0.8.1 as the other end: reads a request a line, answers a line.
#
#   read SPEC NAME HEX HEX-OF-JSON   its value of ours, written again in BER by way of each
#   make SPEC NAME SEED              a value of its own
#
# SPEC is the section that a type stands in, or `operation`; NAME then is
# `operation.argument`, `operation.result` or `error`.
import json
import os
import random
import sys

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))
from pycrate_asn1dir import TCAP_CAP, TCAP_MAPv2v3  # noqa: E402

MODULES = {
    "1": "MS-DataTypes", "2": "OM-DataTypes", "3": "CH-DataTypes", "4": "SS-DataTypes",
    "5": "SS-Code", "6": "SM-DataTypes", "7": "ER-DataTypes", "8": "CommonDataTypes",
    "9": "TS-Code", "10": "BS-Code", "11": "ExtensionDataTypes", "12": "GR-DataTypes",
    "13": "LCS-DataTypes",
}


def contracts(value, found):
    """The operations of CAP, whose types have their bounds in application contexts alone."""
    if isinstance(value, dict):
        if "operationCode" in value:
            name = value["operationCode"][1]
            found.setdefault("%d.argument" % name, value.get("ArgumentType"))
            found.setdefault("%d.result" % name, value.get("ResultType"))
            for error in getattr(value.get("Errors"), "root", []):
                found.setdefault("%d" % error["errorCode"][1], error.get("ParameterType"))
        for inner in value.values():
            contracts(inner, found)
    elif hasattr(value, "root"):
        for inner in value.root:
            contracts(inner, found)


def cap():
    found = {}
    for name in dir(TCAP_CAP):
        module = getattr(TCAP_CAP, name)
        if name.startswith("CAP_") and hasattr(module, "_val_"):
            for value in module._val_:
                value = value.replace("-", "_")
                value = getattr(module, value, None) or getattr(module, value + "_")
                contracts(value._val, found)
    return found


CAP = cap()


def named(spec, name):
    if spec == "operation":
        return CAP[name]
    if "§17.4" in spec:
        module = "MAP-DialogueInformation"
    elif "§14.6.6" in spec:
        module = "MAPv2-Errors"
    else:
        prefix = "MAPv2-" if "09.02" in spec else "MAP-"
        module = prefix + MODULES[spec.rsplit(".", 1)[1]]
    module = getattr(TCAP_MAPv2v3, module.replace("-", "_"))
    return getattr(module, name.replace("-", "_"))


def limits(constraint, low, high):
    if constraint is None or constraint.ext is not None:
        return low, high
    pairs = [(it.lb, it.ub) if hasattr(it, "lb") else (it, it) for it in constraint.root]
    lows = [low if it[0] is None else it[0] for it in pairs]
    highs = [high if it[1] is None else it[1] for it in pairs]
    return min(lows), max(highs)


def size(kind, draw, most=40):
    low, high = limits(kind._const_sz, 0, most)
    return draw.choice([low, min(high, low + most), draw.randint(low, min(high, low + most))])


def value(kind, draw):
    tag = kind.TYPE
    if tag == "NULL":
        return 0
    if tag == "BOOLEAN":
        return draw.random() < 0.5
    if tag == "INTEGER":
        low, high = limits(kind._const_val, -(1 << 31), (1 << 31) - 1)
        return draw.choice([low, high, draw.randint(low, high)])
    if tag == "ENUMERATED":
        return draw.choice(list(kind._cont))
    if tag == "OCTET STRING":
        return bytes(draw.randrange(256) for _ in range(size(kind, draw)))
    if tag == "BIT STRING":
        count = size(kind, draw)
        return (draw.getrandbits(count) if count else 0, count)
    if tag == "OBJECT IDENTIFIER":
        return (0, 4, 0, 0, 1, draw.randrange(1 << 20))
    if tag == "NumericString":
        return "".join(draw.choice("0123456789") for _ in range(size(kind, draw)))
    if tag.endswith("String"):
        return "".join(chr(draw.randrange(0x21, 0x7f)) for _ in range(size(kind, draw)))
    if tag in ("SEQUENCE OF", "SET OF"):
        low, _ = limits(kind._const_sz, 0, 4)
        return [value(kind._cont, draw) for _ in range(min(size(kind, draw), max(low, 4)))]
    if tag == "CHOICE":
        name = draw.choice(list(kind._cont))
        return (name, value(kind._cont[name], draw))
    if tag in ("SEQUENCE", "SET"):
        return {
            name: value(inner, draw)
            for name, inner in kind._cont.items()
            if not (inner._opt or inner._def is not None) or draw.random() < 0.5
        }
    return ("OCTET STRING", bytes(draw.randrange(256) for _ in range(8)))


def answer(words):
    kind = named(words[1].replace("_", " "), words[2])
    if words[0] == "make":
        kind.set_val(value(kind, random.Random(int(words[3]))))
        return kind.to_ber().hex()
    kind.from_ber(bytes.fromhex(words[3]))
    by_ber = kind.to_ber().hex()
    mine = json.loads(kind.to_jer())
    text = bytes.fromhex(words[4]).decode()
    kind.from_jer(text)
    return "%s %s %s" % (by_ber, kind.to_ber().hex(), json.dumps(mine).encode().hex())


for line in sys.stdin:
    try:
        print(answer(line.split()), flush=True)
    except Exception as error:  # what it cannot read is an answer too
        print("! %s: %s" % (type(error).__name__, str(error).replace("\n", " ")), flush=True)
