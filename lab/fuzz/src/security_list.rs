//! Values of Security-Client and its like: nothing panics, what is read is written and read back as
//! the same list, and what is chosen of it stands in it and makes four associations or none.

use secagree::{
    Agreement, Alg, Ealg, Ipsec, Kept, List, Mode, Peer, Preference, Transport, choose,
    choose_server,
};

fn everything() -> Preference {
    let pairs = Alg::ALL.iter().flat_map(|alg| Ealg::ALL.iter().map(|ealg| (*alg, *ealg)));
    Preference { pairs: pairs.collect(), modes: Mode::ALL.to_vec() }
}

/// Runs one input: a list, as it stands in lines.
pub fn run(octets: &[u8]) {
    let mut tags = Vec::new();
    secagree::rules::without_tag(octets, &mut tags);
    let Ok(list) = List::read(octets.split(|octet| *octet == b'\n')) else { return };
    let mut written = Vec::new();
    list.write(&mut written);
    let again = List::read([&written[..]]).expect("what is written is a list");
    assert!(again.is_same(&list) && list.is_same(&again));
    let turned = List(list.0.iter().rev().cloned().collect());
    let [kept, other] = [&list, &turned].map(Kept::of);
    assert!(kept.list() == list && kept.is_same(&other), "it is kept as it was");
    let own = everything();
    for chosen in [choose(&list, &own), choose_server(&list, &own)].into_iter().flatten() {
        assert!(list.0.iter().any(|it| it.ipsec() == Some(&chosen.of)));
        let address = std::net::Ipv4Addr::LOCALHOST.into();
        let ue = Peer { address, outside: None, ipsec: chosen.of };
        let pcscf =
            Peer { ipsec: Ipsec { spi_c: esp::Spi(300), spi_s: esp::Spi(301), ..chosen.of }, ..ue };
        let agreement = Agreement { ue, pcscf, transport: Transport::Any };
        for one in agreement.associations().into_iter().flatten() {
            assert!(agreement.parameters(&one, one.from).is_some());
        }
    }
}
