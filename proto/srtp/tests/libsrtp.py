"""libsrtp 2 by ctypes: reads commands, one a line, and answers each with octets or a status."""

import ctypes
import sys

lib = ctypes.CDLL("libsrtp2.so.1")
NULL, AES_CM, HMAC, AUTH, BOTH = 0, 1, 3, 2, 3
ANY_INBOUND, ANY_OUTBOUND = 2, 3


class Crypto(ctypes.Structure):
    _fields_ = [
        ("cipher", ctypes.c_uint32),
        ("cipher_key", ctypes.c_int),
        ("auth", ctypes.c_uint32),
        ("auth_key", ctypes.c_int),
        ("tag", ctypes.c_int),
        ("services", ctypes.c_int),
    ]


class Key(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("mki", ctypes.c_char_p), ("mki_size", ctypes.c_uint)]


class Policy(ctypes.Structure):
    _fields_ = [
        ("ssrc_type", ctypes.c_int),
        ("ssrc", ctypes.c_uint),
        ("rtp", Crypto),
        ("rtcp", Crypto),
        ("key", ctypes.c_char_p),
        ("keys", ctypes.POINTER(ctypes.POINTER(Key))),
        ("keys_count", ctypes.c_ulong),
        ("ekt", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("repeat", ctypes.c_int),
        ("extensions", ctypes.c_void_p),
        ("extensions_count", ctypes.c_int),
        ("next", ctypes.c_void_p),
    ]


SETTERS = {
    "AES_CM_128_HMAC_SHA1_80": "rtp_default",
    "AES_CM_128_HMAC_SHA1_32": "aes_cm_128_hmac_sha1_32",
    "AES_192_CM_HMAC_SHA1_80": "aes_cm_192_hmac_sha1_80",
    "AES_192_CM_HMAC_SHA1_32": "aes_cm_192_hmac_sha1_32",
    "AES_256_CM_HMAC_SHA1_80": "aes_cm_256_hmac_sha1_80",
    "AES_256_CM_HMAC_SHA1_32": "aes_cm_256_hmac_sha1_32",
    "AEAD_AES_128_GCM": "aes_gcm_128_16_auth",
    "AEAD_AES_256_GCM": "aes_gcm_256_16_auth",
    "NULL_HMAC_SHA1_80": "null_cipher_hmac_sha1_80",
}
KEPT = []


def new(way, suite, flags, keys):
    policy = Policy(ssrc_type=ANY_OUTBOUND if way == "out" else ANY_INBOUND)
    for part, name in ((policy.rtp, suite), (policy.rtcp, suite.replace("SHA1_32", "SHA1_80"))):
        getattr(lib, "srtp_crypto_policy_set_" + SETTERS[name])(ctypes.byref(part))
    if "p" in flags:
        policy.rtp.services = AUTH
    if "c" in flags:
        policy.rtcp.services = AUTH
    if "a" in flags:
        policy.rtp.auth, policy.rtp.auth_key, policy.rtp.tag, policy.rtp.services = 0, 0, 0, 1
    entries = []
    for word in keys:
        key, _, mki = word.partition("/")
        key, mki = bytes.fromhex(key), bytes.fromhex(mki)
        entries.append(Key(key, mki, len(mki)))
    named = any(entry.mki_size for entry in entries)
    if named:
        pointers = (ctypes.POINTER(Key) * len(entries))(*map(ctypes.pointer, entries))
        policy.keys, policy.keys_count = pointers, len(entries)
        KEPT.append((entries, pointers))
    else:
        policy.key = entries[0].key
    session = ctypes.c_void_p()
    status = lib.srtp_create(ctypes.byref(session), ctypes.byref(policy))
    KEPT.append(policy)
    assert status == 0, "srtp_create: %d" % status
    return session, named


def main():
    assert lib.srtp_init() == 0
    sessions = {}
    buffer = ctypes.create_string_buffer(4096)
    for line in sys.stdin.read().splitlines():
        words = line.split()
        if words[0] == "new":
            sessions[words[1]] = new(words[2], words[3], words[4], words[5:])
            continue
        (session, named), octets = sessions[words[1]], bytes.fromhex(words[2])
        ctypes.memmove(buffer, octets, len(octets))
        length = ctypes.c_int(len(octets))
        arguments = [session, buffer, ctypes.byref(length), int(named)]
        if words[0].startswith("protect"):
            arguments.append(int(words[3]))
        name = words[0] if words[0].endswith("rtcp") else words[0]
        call = {"protect": "srtp_protect_mki", "unprotect": "srtp_unprotect_mki",
                "protect_rtcp": "srtp_protect_rtcp_mki",
                "unprotect_rtcp": "srtp_unprotect_rtcp_mki"}[name]
        status = getattr(lib, call)(*arguments)
        print(buffer.raw[: length.value].hex() if status == 0 else "! %d" % status)


main()
