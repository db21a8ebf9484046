use super::*;

#[test]
fn a_fingerprint_is_written_as_it_is_read_and_is_of_one_certificate() {
    for hash in Hash::ALL {
        let one = Fingerprint::of(hash, b"certificate");
        let text = one.to_string();
        assert_eq!(Fingerprint::parse(text.as_bytes()).unwrap(), Some(one));
        assert_eq!(Fingerprint::parse(text.to_lowercase().as_bytes()).unwrap(), Some(one));
        assert!(one.is_of(b"certificate") && !one.is_of(b"certificates"));
        for cut in hash.name().len()..text.len() {
            assert!(Fingerprint::parse(&text.as_bytes()[..cut]).is_err(), "{}", &text[..cut]);
        }
        assert!(Fingerprint::parse(format!("{text}:00").as_bytes()).is_err());
    }
    assert_eq!(Fingerprint::parse(b"sha-1 00:11").unwrap(), None);
    assert!(Fingerprint::parse(b"sha-256").is_err());
}

#[test]
fn roles_by_rfc_5763() {
    use Role::{Client, Server};
    use Setup::{ActPass, Active, HoldConn, Passive};
    assert_eq!(ActPass.answer(Client), Some((Active, Client)));
    assert_eq!(ActPass.answer(Server), Some((Passive, Server)));
    assert_eq!(Active.answer(Client), Some((Passive, Server)));
    assert_eq!(Passive.answer(Server), Some((Active, Client)));
    assert_eq!(HoldConn.answer(Client), None);
    assert_eq!(ActPass.accept(Active), Some(Server));
    assert_eq!(ActPass.accept(Passive), Some(Client));
    assert_eq!(Active.accept(Passive), Some(Client));
    assert_eq!(Passive.accept(Active), Some(Server));
    for (offered, answered) in [(ActPass, ActPass), (Active, Active), (ActPass, HoldConn)] {
        assert_eq!(offered.accept(answered), None);
    }
    for setup in [ActPass, Active, HoldConn, Passive] {
        assert_eq!(Setup::parse(setup.name().as_bytes()), Some(setup));
    }
}

fn description(lines: &[(&str, &str)]) -> Result<Option<Description>, Malformed> {
    Description::read(|name| {
        let of = lines.iter().filter(move |(it, _)| *it == name);
        of.map(|(_, value)| value.as_bytes())
    })
}

#[test]
fn an_association_goes_on_until_its_name_or_certificate_changes() {
    let print = Fingerprint::of(Hash::Sha256, b"one").to_string();
    let other = Fingerprint::of(Hash::Sha256, b"two").to_string();
    let id = ("tls-id", "abc3de65cddef001be82");
    let read = |print: &str, more: &[(&str, &str)]| {
        let lines = [&[("fingerprint", print), ("setup", "actpass")][..], more].concat();
        description(&lines).unwrap().unwrap()
    };
    let one = read(&print, &[id]);
    assert!(one.goes_on_as(&read(&print, &[id])));
    assert!(!one.goes_on_as(&read(&print, &[])));
    assert!(!one.goes_on_as(&read(&other, &[id])));
    assert!(!one.goes_on_as(&read(&print, &[("tls-id", "abc3de65cddef001be83")])));
    assert!(one.names(b"one") && !one.names(b"two"));
    assert_eq!(description(&[("setup", "actpass")]).unwrap(), None);
    assert!(description(&[("fingerprint", &print), ("setup", "both")]).is_err());
    assert!(description(&[("fingerprint", &print), ("tls-id", "short")]).is_err());
    let weak = description(&[("fingerprint", "sha-1 00:11")]).unwrap().unwrap();
    assert!(weak.fingerprints.is_empty() && !weak.names(b"one"));
}

#[test]
fn the_strongest_hash_counts() {
    let weak = Fingerprint::of(Hash::Sha256, b"one").to_string();
    let strong = Fingerprint::of(Hash::Sha512, b"two").to_string();
    let both = description(&[("fingerprint", &weak), ("fingerprint", &strong)]).unwrap().unwrap();
    assert!(both.names(b"two") && !both.names(b"one"));
}

#[test]
fn each_end_sends_with_what_the_other_opens_with() {
    for &suite in Suite::ALL {
        let material: Vec<u8> = (0..Keys::octets(suite) as u8).collect();
        let client = Keys::of(suite, &material, Role::Client).unwrap();
        let server = Keys::of(suite, &material, Role::Server).unwrap();
        assert!(client.ours == server.theirs && client.theirs == server.ours);
        assert_eq!(client.ours.key()[0], 0);
        assert_eq!(server.ours.key()[0] as usize, suite.key_octets());
        assert_eq!(client.ours.salt()[0] as usize, 2 * suite.key_octets());
        assert!(Keys::of(suite, &material[1..], Role::Client).is_none());
    }
}
