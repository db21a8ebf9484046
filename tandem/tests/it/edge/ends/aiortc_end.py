"""aiortc as a WebRTC end. Arguments: hertz, file for the samples that came.

A line in: {"offer": true}, {"answer": SDP} or {"take": SDP}; a line out: {"sdp": SDP}.
"""

import asyncio
import fractions
import json
import math
import sys
import time

import av
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack

HERTZ, FILE = int(sys.argv[1]), sys.argv[2]
RATE, SAMPLES = 48000, 960


class Tone(MediaStreamTrack):
    kind = "audio"

    def __init__(self):
        super().__init__()
        self.at, self.began = 0, time.monotonic()

    async def recv(self):
        at = self.at
        self.at += SAMPLES
        await asyncio.sleep(max(0.0, self.began + at / RATE - time.monotonic()))
        frame = av.AudioFrame(format="s16", layout="stereo", samples=SAMPLES)
        turn = 2 * math.pi * HERTZ / RATE
        wave = (int(12000 * math.sin(turn * (at + it))) for it in range(SAMPLES))
        frame.planes[0].update(b"".join(it.to_bytes(2, "little", signed=True) * 2 for it in wave))
        frame.pts, frame.sample_rate = at, RATE
        frame.time_base = fractions.Fraction(1, RATE)
        return frame


async def hear(track):
    resampler = av.AudioResampler(format="s16", layout="mono", rate=8000)
    with open(FILE, "wb", buffering=0) as file:
        while True:
            for frame in resampler.resample(await track.recv()):
                file.write(bytes(frame.planes[0])[: frame.samples * 2])


async def main():
    loop, tasks = asyncio.get_running_loop(), []
    end = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    end.addTrack(Tone())

    @end.on("track")
    def came(track):
        tasks.append(loop.create_task(hear(track)))

    @end.on("connectionstatechange")
    def changed():
        print(end.connectionState, file=sys.stderr, flush=True)

    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        said = json.loads(line)
        if "take" in said:
            await end.setRemoteDescription(RTCSessionDescription(said["take"], "answer"))
            continue
        if "answer" in said:
            await end.setRemoteDescription(RTCSessionDescription(said["answer"], "offer"))
            await end.setLocalDescription(await end.createAnswer())
        else:
            await end.setLocalDescription(await end.createOffer())
        print(json.dumps({"sdp": end.localDescription.sdp}), flush=True)


try:
    asyncio.run(main())
except MediaStreamError:
    pass
