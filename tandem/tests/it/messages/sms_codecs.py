# RP messages and TPDUs of terminals (TS 24.011, TS 23.040), by pycrate.
import logging
import os
import sys

cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))
from pycrate_mobile import TS23040_SMS as TP  # noqa: E402
from pycrate_mobile import TS24011_PPSMS as RP  # noqa: E402

logging.disable(logging.CRITICAL)
RP_TYPE = "application/vnd.3gpp.sms"


def submission(centre, to, reference, wants, text):
    """RP-DATA with an SMS-SUBMIT."""
    tpdu = TP.SMS_SUBMIT()
    tpdu["TP_MR"].set_val(int(reference))
    tpdu["TP_SRR"].set_val(int(wants == "report"))
    tpdu["TP_DA"]["Num"].encode(to)
    tpdu["TP_UD"]["UD"].encode(text)
    data = tpdu.to_bytes()
    message = RP.RP_DATA_MO()
    message["Ref"].set_val(int(reference))
    number = RP.RPOriginatorAddress()["Num"]
    number.encode(centre)
    message["RPDestinationAddress"].set_val({"V": bytes([0x91]) + number.to_bytes()})
    message["RPUserData"].set_val({"V": data})
    return message.to_bytes()


def report_of(body):
    """What became of a submission: RP-ACK or RP-ERROR."""
    if body[0] & 7 == 3:
        message = RP.RP_ACK_MT()
        message.from_bytes(body)
        data = body[4:]
        report = TP.SMS_SUBMIT_REPORT_RP_ACK()
        if data:
            report.from_bytes(data)
        return {"ack": True, "reference": message["Ref"].get_val(), "tpdu": data.hex()}
    message = RP.RP_ERROR_MT()
    message.from_bytes(body)
    cause = body[3] & 127
    return {"ack": False, "reference": message["Ref"].get_val(), "cause": cause}


def delivery(body):
    """The reference of RP-DATA to a terminal, and what its TPDU says."""
    message = RP.RP_DATA_MT()
    message.from_bytes(body)
    data = message["RPUserData"][1].to_bytes()
    if data[0] & 3 == 2:
        tpdu = TP.SMS_STATUS_REPORT()
        tpdu.from_bytes(data)
        said = {"kind": "report", "from": tpdu["TP_RA"]["Num"].decode(),
                "status": tpdu["TP_ST"].get_val(), "reference": tpdu["TP_MR"].get_val()}
    else:
        tpdu = TP.SMS_DELIVER()
        tpdu.from_bytes(data)
        said = {"kind": "message", "from": tpdu["TP_OA"]["Num"].decode(),
                "text": tpdu["TP_UD"]["UD"].decode()}
    return message["Ref"].get_val(), said


def acknowledgement(reference):
    """RP-ACK of a terminal."""
    report = RP.RP_ACK_MO()
    report["Ref"].set_val(reference)
    return report.to_bytes()
