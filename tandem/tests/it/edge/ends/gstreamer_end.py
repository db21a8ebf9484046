"""GStreamer's webrtcbin as a WebRTC end. Arguments: hertz, file for the samples that came.

A line in: {"offer": true}, {"answer": SDP} or {"take": SDP}; a line out: {"sdp": SDP}.
"""

import json
import re
import subprocess
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

HERTZ, FILE = sys.argv[1], sys.argv[2]
Gst.init(None)
pipeline = Gst.parse_launch(
    "webrtcbin name=end bundle-policy=max-bundle "
    f"audiotestsrc is-live=true samplesperbuffer=160 volume=0.4 freq={HERTZ} "
    "! audio/x-raw,rate=8000,channels=1 ! alawenc ! rtppcmapay pt=8 "
    "! application/x-rtp,media=audio,encoding-name=PCMA,payload=8,clock-rate=8000 ! end."
)
end = pipeline.get_by_name("end")


def openssl(words, said=""):
    command = ["openssl", *words.split()]
    return subprocess.run(command, input=said, check=True, capture_output=True, text=True).stdout


# Its own certificates are of RSA, which a media controller does not take (RFC 8827 section 6.5).
CERTIFICATE = openssl(
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=end -days 30 "
    "-keyout - -out -"
)
# What webrtcbin says is the digest of all that is in the PEM, of the key as well.
FINGERPRINT = openssl("x509 -noout -fingerprint -sha256", CERTIFICATE).split("=")[1].strip()


def made(_bin, _of, element):
    if element.get_factory().get_name() == "dtlsdec":
        element.set_property("pem", CERTIFICATE)


SINK = (
    "rtppcmadepay ! alawdec ! audioconvert ! audio/x-raw,format=S16LE,rate=8000,channels=1 "
    f"! filesink buffer-mode=unbuffered sync=false location={FILE}"
)


def came(_, pad):
    if pad.direction == Gst.PadDirection.SRC:
        sink = Gst.parse_bin_from_description(SINK, True)
        pipeline.add(sink)
        pad.link(sink.get_static_pad("sink"))
        sink.sync_state_with_parent()


def asked(signal, *arguments):
    """A promise that is kept; what it came to goes with it."""
    promise = Gst.Promise.new()
    end.emit(signal, *arguments, promise)
    promise.wait()
    return promise


def told(sdp, kind):
    _, message = GstSdp.SDPMessage.new_from_text(sdp)
    kind = getattr(GstWebRTC.WebRTCSDPType, kind)
    asked("set-remote-description", GstWebRTC.WebRTCSessionDescription.new(kind, message))


gathered = threading.Event()


def gathering(*_):
    if end.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
        gathered.set()


def describe(kind):
    made = asked(f"create-{kind}", None)
    reply = made.get_reply()
    own = reply.get_value(kind)
    _, copy = GstSdp.SDPMessage.new_from_text(own.sdp.as_text())
    asked("set-local-description", GstWebRTC.WebRTCSessionDescription.new(own.type, copy))
    gathered.wait()
    sdp = end.get_property("local-description").sdp.as_text()
    sdp = re.sub(r"(?<=a=fingerprint:sha-256 )\S+", FINGERPRINT, sdp)
    print(json.dumps({"sdp": sdp}), flush=True)


def listen():
    for line in sys.stdin:
        said = json.loads(line)
        if "take" in said:
            told(said["take"], "ANSWER")
        elif "answer" in said:
            told(said["answer"], "OFFER")
            describe("answer")
        else:
            describe("offer")
    loop.quit()


end.connect("deep-element-added", made)
end.connect("pad-added", came)
end.connect("notify::ice-gathering-state", gathering)
pipeline.set_state(Gst.State.PLAYING)
loop = GLib.MainLoop()
threading.Thread(target=listen, daemon=True).start()
loop.run()
pipeline.set_state(Gst.State.NULL)
