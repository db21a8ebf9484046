"""scapy's IPsec layer: reads commands, one a line, and answers each with octets or a reason.

GMAC, which scapy has not, is written down here by RFC 4543 over `cryptography`.
"""

import struct
import sys
import warnings

warnings.filterwarnings("ignore")

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, in6_chksum
from scapy.layers.ipsec import ESP, IPSecIntegrityError, SecurityAssociation
from scapy.packet import raw


class Gmac:
    """The code of GMAC in the place of scapy's."""

    name, icv_size = "GMAC", 16

    def __init__(self, upper):
        self.upper = upper

    def code(self, esp, key, end):
        text = struct.pack("!L", esp.spi)
        if self.upper is not None:
            text += struct.pack("!L", self.upper)
        text += struct.pack("!L", esp.seq) + esp.data[:end]
        return AESGCM(key[:-4]).encrypt(key[-4:] + esp.data[:8], b"", text)

    def sign(self, esp, key):
        esp.data += self.code(esp, key, len(esp.data))

    def verify(self, esp, key):
        if self.code(esp, key, len(esp.data) - 16) != esp.data[-16:]:
            raise IPSecIntegrityError("code")


class Extended:
    """An HMAC of scapy's with the upper half of the number behind the text (RFC 4303 §2.2.1)."""

    def __init__(self, algorithm, upper):
        self.algorithm, self.icv_size = algorithm, algorithm.icv_size
        self.upper = struct.pack("!L", upper)

    def code(self, octets, key):
        mac = self.algorithm.new_mac(key)
        mac.update(octets + self.upper)
        return mac.finalize()[: self.icv_size]

    def sign(self, esp, key):
        esp.data += self.code(raw(esp), key)

    def verify(self, esp, key):
        octets = raw(esp)
        if self.code(octets[: -self.icv_size], key) != octets[-self.icv_size :]:
            raise IPSecIntegrityError("code")


class GmacCipher:
    """No encryption, but an IV in front."""

    name, is_aead, icv_size, iv_size, block_size = "GMAC", False, 0, 8, 4

    def __init__(self, null):
        self.null = null

    def pad(self, esp):
        return self.null.pad(esp)

    def encrypt(self, sa, esp, key, icv_size, esn_en=False, esn=0):
        return ESP(spi=esp.spi, seq=esp.seq, data=esp.iv + esp.data_for_encryption())

    def decrypt(self, sa, esp, key, icv_size, esn_en=False, esn=0):
        plain = ESP(spi=esp.spi, seq=esp.seq, data=esp.data[8:])
        return self.null.decrypt(sa, plain, key, icv_size)


def new(cipher, key, code, code_key, tunnel, udp, upper):
    key, code_key = bytes.fromhex(key[:-1]), bytes.fromhex(code_key[:-1])
    header = {
        "-": None,
        "4": IP(src="198.51.100.1", dst="198.51.100.2"),
        "6": IPv6(src="2001:db8:1::1", dst="2001:db8:1::2"),
    }[tunnel]
    esn = None if upper == "-" else int(upper)
    is_gmac = code == "GMAC"
    sa = SecurityAssociation(
        ESP, spi=0x01020304, crypt_algo=cipher, crypt_key=key,
        auth_algo="NULL" if is_gmac else code, auth_key=None if is_gmac else code_key,
        tunnel_header=header, nat_t_header=UDP(sport=4500, dport=4500) if udp == "udp" else None,
        esn_en=esn is not None, esn=esn or 0)
    if is_gmac:
        sa.auth_algo, sa.auth_key = Gmac(esn), code_key
        sa.crypt_algo = GmacCipher(sa.crypt_algo)
    elif code != "NULL" and esn is not None:
        sa.auth_algo = Extended(sa.auth_algo, esn)
    return sa


def parse(octets):
    return (IPv6 if octets[0] >> 4 == 6 else IP)(octets)


def encrypt(sa, packet, number, iv, start):
    number, iv = int(number, 16), bytes.fromhex(iv[:-1])
    made = sa.encrypt(parse(bytes.fromhex(packet)), seq_num=number, iv=iv)
    octets = bytearray(raw(made))
    if sa.nat_t_header:
        # scapy writes the length of UDP before it has what is inside.
        at = 40 if octets[0] >> 4 == 6 else 20
        octets[at + 4 : at + 6] = struct.pack("!H", len(octets) - at)
        octets[at + 6 : at + 8] = b"\0\0"
        if at == 40:
            # IPv6 takes no datagram without a checksum.
            checksum = in6_chksum(17, IPv6(bytes(octets)), bytes(octets[at:])) or 0xFFFF
            octets[at + 6 : at + 8] = struct.pack("!H", checksum)
    return bytes(octets[int(start) :]).hex()


def decrypt(sa, packet):
    octets = bytes.fromhex(packet)
    if sa.nat_t_header and not sa.tunnel_header and octets[0] >> 4 == 6:
        # scapy leaves UDP in front of what it has decrypted.
        length = struct.pack("!H", len(octets) - 48)
        octets = octets[:4] + length + b"\x32" + octets[7:40] + octets[48:]
    try:
        return raw(sa.decrypt(parse(octets))).hex()
    except (IPSecIntegrityError, InvalidTag):
        return "! code"
    except TypeError as error:
        return "! spi" if "spi" in str(error) else "! other"
    except (ValueError, IndexError, struct.error):
        return "! other"


def main():
    sa = None
    for line in sys.stdin.read().splitlines():
        words = line.split()
        if words[0] == "new":
            sa = new(*words[1:])
        else:
            print({"encrypt": encrypt, "decrypt": decrypt}[words[0]](sa, *words[1:]))


main()
