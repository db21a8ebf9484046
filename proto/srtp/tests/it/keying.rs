//! Whether a stream is protected and how: profiles, attributes and sites.

use srtp::dtls::{Role, Setup};
use srtp::sdes::Policy;
use srtp::{Decision, Demand, Security, Site, Suite, Way, Why};

const CRYPTO: &str =
    "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
const DTLS: &str = "a=setup:actpass\r\na=fingerprint:sha-256 \
    AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:\
    AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA\r\n";

/// What a stream of that profile with those lines says; `above` stands before it.
fn security(profile: &str, lines: &str, above: &str) -> Option<Security> {
    let text = format!(
        "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n{above}\
         m=audio 4000 {profile} 0\r\n{lines}"
    );
    let session = sdp::Session::parse(text.as_bytes()).expect("sound SDP");
    let media = session.media().next().expect("a stream");
    Security::read(&session, &media).expect("sound attributes")
}

fn site(demand: Demand, ways: &[Way]) -> Site {
    Site { demand, ways: ways.to_vec(), sdes: Policy::of(vec![Suite::AesCm128HmacSha1_80]) }
}

#[test]
fn profile_keys_and_site_decide_together() {
    use Demand::{Off, Optional, Required};
    let both = [Way::Dtls, Way::Sdes];
    let sdes = [Way::Sdes];
    let all = format!("{CRYPTO}{DTLS}");
    let cases = [
        ("RTP/AVP", "", Off, &both[..], "plain"),
        ("RTP/AVP", CRYPTO, Off, &both, "plain"),
        ("RTP/SAVP", CRYPTO, Off, &both, "refused Insists"),
        ("UDP/TLS/RTP/SAVPF", DTLS, Off, &both, "refused Insists"),
        ("RTP/AVP", "", Optional, &both, "plain"),
        ("RTP/AVP", CRYPTO, Optional, &both, "sdes"),
        ("RTP/AVP", DTLS, Optional, &both, "dtls"),
        ("RTP/AVP", DTLS, Optional, &sdes, "plain"),
        ("RTP/AVPF", &all, Optional, &both, "dtls"),
        ("RTP/AVPF", &all, Optional, &sdes, "sdes"),
        ("RTP/SAVP", CRYPTO, Optional, &both, "sdes"),
        ("RTP/SAVP", "", Optional, &both, "refused NoWay"),
        ("RTP/SAVP", "a=crypto:1 NEW x:y\r\n", Optional, &both, "refused NoWay"),
        ("RTP/AVP", "a=crypto:1 NEW x:y\r\n", Optional, &both, "plain"),
        ("RTP/AVP", "a=crypto:1 NEW x:y\r\n", Required, &both, "refused NoWay"),
        ("UDP/TLS/RTP/SAVP", &all, Optional, &sdes, "refused NoWay"),
        ("UDP/TLS/RTP/SAVP", &all, Optional, &both, "dtls"),
        ("RTP/AVP", "", Required, &both, "refused Plain"),
        ("RTP/AVP", CRYPTO, Required, &both, "sdes"),
        ("RTP/SAVPF", DTLS, Required, &both, "dtls"),
        ("UDP/TLS/RTP/SAVPF", "a=fingerprint:sha-1 00\r\n", Required, &both, "refused NoWay"),
    ];
    for (profile, lines, demand, ways, expected) in cases {
        let offer = security(profile, lines, "").expect("it is RTP");
        let decided = match site(demand, ways).decide(&offer, Role::Client) {
            Decision::Plain => "plain".to_owned(),
            Decision::Sdes(choice) => {
                assert_eq!(choice.line().tag, 1);
                "sdes".to_owned()
            }
            Decision::Dtls(setup, role) => {
                assert_eq!((setup, role), (Setup::Active, Role::Client));
                "dtls".to_owned()
            }
            Decision::Refused(why) => format!("refused {why:?}"),
        };
        assert_eq!(decided, expected, "{profile} {lines} {demand:?} {ways:?}");
    }
}

#[test]
fn attributes_of_the_session_count_for_streams_without_their_own() {
    let offer = security("UDP/TLS/RTP/SAVPF", "", DTLS).unwrap();
    assert_eq!(offer.dtls.as_ref().unwrap().fingerprints.len(), 1);
    let own = security("UDP/TLS/RTP/SAVPF", "a=setup:passive\r\n", DTLS).unwrap();
    assert_eq!(own.dtls.as_ref().unwrap().setup, Setup::Passive);
    let decision = site(Demand::Optional, &[Way::Dtls]).decide(&own, Role::Server);
    assert_eq!(decision, Decision::Dtls(Setup::Active, Role::Client));
    assert_eq!(security("udptl", "", ""), None);
    let held = security("UDP/TLS/RTP/SAVPF", &DTLS.replace("actpass", "holdconn"), "").unwrap();
    let decision = site(Demand::Optional, &[Way::Dtls]).decide(&held, Role::Server);
    assert_eq!(decision, Decision::Refused(Why::NoWay));
}
