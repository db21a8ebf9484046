"""Digits as tones, by spandsp (Debian: libspandsp2).

`make FILE DIGITS`: a file of RIFF (8,000 samples a second) that has them behind two seconds, and
then nothing for some minutes. `find FILE`: those that are in such a file, which may still grow.
"""

import ctypes
import struct
import sys

RATE = 8000
dsp = ctypes.CDLL("libspandsp.so.2")
for name in ("dtmf_tx_init", "dtmf_rx_init"):
    getattr(dsp, name).restype = ctypes.c_void_p
what, path = sys.argv[1:3]
if what == "make":
    sender = ctypes.c_void_p(dsp.dtmf_tx_init(None, None, None))
    dsp.dtmf_tx_set_timing(sender, 100, 100)
    assert dsp.dtmf_tx_put(sender, sys.argv[3].encode(), -1) == 0
    room = (ctypes.c_int16 * RATE)()
    sound = bytes(4 * RATE)
    while made := dsp.dtmf_tx(sender, room, RATE):
        sound += bytes(room)[:2 * made]
    sound += bytes(2 * RATE * 300)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(sound), b"WAVE", b"fmt ", 16, 1, 1,
                       RATE, 2 * RATE, 2, 16, b"data", len(sound))
    with open(path, "wb") as file:
        file.write(head + sound)
else:
    with open(path, "rb") as file:
        octets = file.read()
    channels, rate = struct.unpack_from("<HI", octets, 22)
    octets = octets[44:]
    samples = struct.unpack(f"<{len(octets) // 2}h", octets[:len(octets) // 2 * 2])[::channels]
    samples = samples[::rate // RATE]
    finder = ctypes.c_void_p(dsp.dtmf_rx_init(None, None, None))
    dsp.dtmf_rx(finder, (ctypes.c_int16 * len(samples))(*samples), len(samples))
    found = ctypes.create_string_buffer(129)
    dsp.dtmf_rx_get(finder, found, 128)
    print(found.value.decode())
