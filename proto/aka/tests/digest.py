"""An answer to set 1 of TS 35.208 by `hashlib` and `hmac`: a line each for AKAv1 and AKAv2."""

import base64
import hashlib
import hmac

REALM = "ims.mnc001.mcc001.3gppnetwork.org"
USER = "001010000000001@" + REALM
RAND = bytes.fromhex("23553cbe9637a89d218ae64dae47bf35")
AUTN = bytes.fromhex("55f328b43577b9b94a9ffac354dfafb3")
RES = bytes.fromhex("a54211d5e3ba50bf")
CK = bytes.fromhex("b40ba9a3c58b2a05bbf0d987b21bf8cb")
IK = bytes.fromhex("f769bcd751044604127672711c6d3441")


def md5(*parts):
    return hashlib.md5(b":".join(parts)).hexdigest().encode()


def code(key, text):
    return hmac.new(key, text, hashlib.md5).digest()


def line(version, password, ck, ik):
    nonce = base64.b64encode(RAND + AUTN)
    uri = ("sip:" + REALM).encode()
    a1 = md5(USER.encode(), REALM.encode(), password)
    response = md5(a1, nonce, b"00000001", b"cn", b"auth", md5(b"REGISTER", uri)).decode()
    value = (
        f'Digest username="{USER}", realm="{REALM}", nonce="{nonce.decode()}", '
        f'uri="{uri.decode()}", response="{response.upper()}", algorithm=AKAv{version}-MD5, '
        'cnonce="cn", qop=auth, nc=00000001'
    )
    print("|".join([nonce.decode(), value, ck.hex(), ik.hex()]))


line(1, RES, CK, IK)
line(
    2,
    base64.b64encode(code(RES + IK + CK, b"http-digest-akav2-password")),
    code(CK, b"http-digest-akav2-cipherkey"),
    code(IK, b"http-digest-akav2-integritykey"),
)
