//! Over TLS, where each side must show who it is; and two servers, one of which goes.

use crate::live::{Live, avp, udr};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::fs;
use std::path::Path;

/// Files of an authority and of what it signed.
fn certificates(directory: &Path, hosts: &[&str]) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    fs::write(directory.join("roots.pem"), certificate.pem()).unwrap();
    let issuer = Issuer::new(params, key);
    for host in hosts {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![(*host).to_owned()]).unwrap();
        let signed = params.signed_by(&key, &issuer).unwrap();
        fs::write(directory.join(format!("{host}.crt")), signed.pem()).unwrap();
        fs::write(directory.join(format!("{host}.key")), key.serialize_pem()).unwrap();
    }
}

fn tls(directory: &Path, host: &str, listen: &str) -> String {
    let directory = directory.display();
    format!(
        "tls = {{ listen = [{listen}], certificate = \"{directory}/{host}.crt\", \
         key = \"{directory}/{host}.key\", roots = \"{directory}/roots.pem\" }}"
    )
}

fn server(directory: &Path) -> Live {
    let tls = tls(directory, "hss.home", "\"127.80.5.1:5658\"");
    Live::start(&format!(
        "applications = [16777217]\n[diameter]\nhost = \"hss.home\"\nrealm = \"home\"\n{tls}\n\
         [[peer]]\nname = \"as\"\nhost = \"as.example\"\ntransport = \"tls\"\n"
    ))
}

fn client(directory: &Path, certificate: &str) -> Live {
    let tls = tls(directory, certificate, "");
    Live::start(&format!(
        "applications = [16777217]\n[diameter]\nhost = \"as.example\"\nrealm = \"example\"\n\
         timers = {{ reconnect_ms = 200 }}\n{tls}\n[[peer]]\nname = \"hss\"\n\
         host = \"hss.home\"\ntransport = \"tls\"\naddresses = [\"127.80.5.1\"]\nconnect = true\n\
         [[route]]\nto = [{{ peer = \"hss\" }}]\n"
    ))
}

#[test]
fn peers_speak_over_tls_and_a_certificate_of_another_host_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path(), &["hss.home", "as.example", "other.example"]);
    let server = server(directory.path());
    let impostor = client(directory.path(), "other.example");
    impostor.until("peers", |rows| rows[0]["losses"].as_u64() == Some(0) && rows[0]["why"] != "");
    impostor.stop();
    let client = client(directory.path(), "as.example");
    client.until_open(1);
    assert_eq!(server.ask("connections", &[])[0]["transport"], "tls");
    let answer = client.answer(&udr("as.example", "example", &["MSISDN"]));
    assert_eq!(avp(&answer["avps"], "Result-Code"), 2001, "{answer:#}");
    client.stop();
    server.stop();
}
