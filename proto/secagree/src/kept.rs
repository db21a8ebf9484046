//! A list as whoever has very many of them keeps it: what a phone has offered, and what it was
//! offered, for as long as its agreement stands.

use crate::{Alg, Ealg, Ipsec, List, Mechanism, Name, Q};

/// A list in little room.
#[derive(Clone, Debug)]
pub struct Kept(Form);

#[derive(Clone, Debug)]
enum Form {
    /// IPsec with one mode, indices and ports, in several pairs of algorithms: what phones and
    /// networks write.
    Alike {
        /// Its algorithms mean nothing.
        of: Ipsec,
        pairs: Box<[Pair]>,
    },
    /// Everything else.
    Listed(List),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    alg: Alg,
    ealg: Ealg,
    q: Option<Q>,
}

impl Default for Kept {
    fn default() -> Self {
        Self(Form::Listed(List::default()))
    }
}

impl Kept {
    /// The list in little room.
    #[must_use]
    pub fn of(list: &List) -> Self {
        alike(list).unwrap_or_else(|| Self(Form::Listed(list.clone())))
    }

    /// The list, as it was.
    #[must_use]
    pub fn list(&self) -> List {
        let (of, pairs) = match &self.0 {
            Form::Alike { of, pairs } => (of, pairs),
            Form::Listed(list) => return list.clone(),
        };
        let mechanism = |Pair { alg, ealg, q }: &Pair| Mechanism {
            name: Name::Ipsec3gpp(Ipsec { alg: *alg, ealg: *ealg, ..*of }),
            q: *q,
            extensions: Vec::new(),
        };
        List(pairs.iter().map(mechanism).collect())
    }

    /// The same mechanisms, as in [`List::is_same`].
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Alike { of, pairs }, Form::Alike { of: other, pairs: others }) => {
                of == other && sorted(pairs) == sorted(others)
            }
            (Form::Listed(list), Form::Listed(other)) => list.is_same(other),
            // What is alike has one form.
            _ => false,
        }
    }

    /// Appends the value of its header field.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.list().write(out);
    }
}

impl From<List> for Kept {
    fn from(list: List) -> Self {
        alike(&list).unwrap_or(Self(Form::Listed(list)))
    }
}

/// The list, if its mechanisms differ in algorithms and preferences alone.
fn alike(list: &List) -> Option<Kept> {
    let bare = |ipsec: &Ipsec| Ipsec { alg: Alg::Null, ealg: Ealg::Null, ..*ipsec };
    let of = bare(list.0.first()?.ipsec()?);
    let pair = |it: &Mechanism| {
        let ipsec = it.ipsec().filter(|_| it.extensions.is_empty())?;
        let pair = Pair { alg: ipsec.alg, ealg: ipsec.ealg, q: it.q };
        (bare(ipsec) == of).then_some(pair)
    };
    let pairs: Option<Box<[Pair]>> = list.0.iter().map(pair).collect();
    Some(Kept(Form::Alike { of, pairs: pairs? }))
}

/// In an order that is no one's own.
fn sorted(pairs: &[Pair]) -> Vec<Pair> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable_by_key(|it| (it.q, it.alg.name(), it.ealg.name()));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: &[&str] = &[
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062, \
         ipsec-3gpp;q=0.8;alg=null;ealg=aes-gcm;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062",
        "ipsec-3gpp;q=0.8;alg=null;ealg=aes-gcm;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062, \
         ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062",
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062",
        "ipsec-3gpp;q=0;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;\
         port-s=5062",
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4002;port-c=5064;port-s=5062",
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062;\
         x=y",
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062, \
         tls;q=0.1",
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;port-c=5064;port-s=5062, \
         ipsec-3gpp;mod=UDP-enc-tun;alg=null;ealg=aes-gcm;spi-c=4000;spi-s=4001;port-c=5064;\
         port-s=5062",
        "tls, digest;q=0.3, other;a=b",
        "",
    ];

    fn read(text: &str) -> List {
        List::read([text.as_bytes()]).expect("it is a list")
    }

    #[test]
    fn a_list_that_is_kept_is_the_one_it_was_and_the_same_as_the_same_ones() {
        for one in LISTS {
            let kept = Kept::of(&read(one));
            assert_eq!(kept.list(), read(one));
            let (mut written, mut kept_written) = (Vec::new(), Vec::new());
            read(one).write(&mut written);
            kept.write(&mut kept_written);
            assert_eq!(written, kept_written);
            for other in LISTS {
                let [first, second] = [one, other].map(|text| read(text));
                assert_eq!(
                    kept.is_same(&second.clone().into()),
                    first.is_same(&second),
                    "{one} {other}"
                );
            }
        }
    }

    #[test]
    fn what_phones_offer_is_kept_in_a_few_octets() {
        assert!(size_of::<Kept>() <= 40 && size_of::<Pair>() <= 8, "{}", size_of::<Kept>());
        let is_alike = |text: &str| matches!(Kept::of(&read(text)).0, Form::Alike { .. });
        let alike: Vec<bool> = LISTS.iter().map(|text| is_alike(text)).collect();
        assert_eq!(alike, [[true; 5], [false; 5]].concat());
    }
}
