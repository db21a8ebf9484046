"""A fax terminal of spandsp (Debian: libspandsp2), T.38 by UDPTL (ITU-T T.38 §9.1).

Arguments: `calls` or `answers`, address, port, where packets go as `HOST:PORT`, a page to send or
a file for the one that comes. Says so when it is there, waits for a line, then faxes; says the code
of T.30's end.
All that was sent and that came is written to FILE.sent and FILE.came, a datagram a line.
"""

import ctypes
import select
import socket
import struct
import sys
import time

ROLE, ADDRESS, PORT, TO, FILE = sys.argv[1:]
WIDTH, LINES = 1728, 120
# 20 ms of samples pass in 5: clocks of T.30 count samples.
SAMPLES, STEP_S = 160, 0.005
REDUNDANT = 2
STEPS_MAX = 12_000

dsp = ctypes.CDLL("libspandsp.so.2")
for name in ("t38_terminal_init", "t38_terminal_get_t30_state", "t38_terminal_get_t38_core_state"):
    getattr(dsp, name).restype = ctypes.c_void_p
SENDS = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_int,
    ctypes.c_int)
ENDS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


def page():
    """A bilevel TIFF of 204 x 98 dots an inch: stripes and a slope."""
    rows = b""
    for line in range(LINES):
        row = bytearray(WIDTH // 8)
        for at in range(line, min(line + 40, len(row))):
            row[at] = 0xFF if line // 8 % 2 else 0x3C
        rows += row
    tags = [
        (256, 4, WIDTH), (257, 4, LINES), (258, 3, 1), (259, 3, 1), (262, 3, 0), (273, 4, 0),
        (277, 3, 1), (278, 4, LINES), (279, 4, len(rows)), (282, 5, 0), (283, 5, 0), (296, 3, 2),
    ]
    end = 8 + 2 + 12 * len(tags) + 4
    places = {273: end + 16, 282: end, 283: end + 8}
    out = b"II*\0" + struct.pack("<IH", 8, len(tags))
    for tag, kind, value in tags:
        value = places.get(tag, value)
        octets = struct.pack("<HH" if kind == 3 else "<I", *([value, 0] if kind == 3 else [value]))
        out += struct.pack("<HHI", tag, kind, 1) + octets
    return out + struct.pack("<IIIII", 0, 204, 1, 98, 1) + rows


end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind((ADDRESS, int(PORT)))
host, port = TO.rsplit(":", 1)
sent, came = (open(FILE + it, "w", buffering=1) for it in (".sent", ".came"))
state = {"number": 0, "last": [], "expected": 0, "code": None}


def open_type(octets):
    return bytes([len(octets)]) + octets


def sends(_core, _user, octets, length, count):
    primary = bytes(octets[:length])
    last = state["last"]
    text = struct.pack("!H", state["number"] & 0xFFFF) + open_type(primary)
    text += bytes([0, len(last)]) + b"".join(map(open_type, last))
    state["number"] += 1
    state["last"] = ([primary] + last)[:REDUNDANT]
    for _ in range(max(1, count)):
        end.sendto(text, (host, int(port)))
        sent.write(text.hex() + "\n")
    return 0


def takes(text):
    came.write(text.hex() + "\n")
    (number,) = struct.unpack_from("!H", text)
    at, packets = 3 + text[2], [text[3:3 + text[2]]]
    assert at < len(text) and text[at] == 0, "no packets of others behind the first"
    count, at = text[at + 1], at + 2
    for _ in range(count):
        packets.append(text[at + 1:at + 1 + text[at]])
        at += 1 + text[at]
    assert at == len(text), "nothing stands behind"
    for back in reversed(range(len(packets))):
        if number - back >= state["expected"]:
            octets = packets[back]
            dsp.t38_core_rx_ifp_packet(core, octets, len(octets), number - back)
            state["expected"] = number - back + 1


def ends(_t30, _user, code):
    state["code"] = code


handlers = SENDS(sends), ENDS(ends)
terminal = ctypes.c_void_p(dsp.t38_terminal_init(None, int(ROLE == "calls"), handlers[0], None))
core = ctypes.c_void_p(dsp.t38_terminal_get_t38_core_state(terminal))
t30 = ctypes.c_void_p(dsp.t38_terminal_get_t30_state(terminal))
name = FILE.encode()
if ROLE == "calls":
    with open(FILE, "wb") as file:
        file.write(page())
    dsp.t30_set_tx_file(t30, name, -1, -1)
else:
    dsp.t30_set_rx_file(t30, name, -1)
dsp.t30_set_phase_e_handler(t30, handlers[1], None)
print("true", flush=True)
sys.stdin.readline()
due, steps, is_over = time.monotonic(), 0, 0
while not is_over and steps < STEPS_MAX:
    due, steps = due + STEP_S, steps + 1
    while select.select([end], [], [], max(0.0, due - time.monotonic()))[0]:
        takes(end.recv(2048))
    is_over = dsp.t38_terminal_send_timeout(terminal, SAMPLES)
print(state["code"], flush=True)
