//! The simplest evaluator that could be right: attributes decoded, communities compared as text.

use super::given::Route;
use bgp::codec::{
    AsPath, AttributeType, Attributes, Community, ExtendedCommunity, LargeCommunity, aigp_metric,
};
use policy::{AmountConfig, Bounds, Disposition, OriginConfig, PolicyConfig, RuleConfig, Then};

/// Attributes, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    origin: u64,
    path: Vec<u32>,
    med: Option<u64>,
    local_pref: Option<u64>,
    aigp: Option<u64>,
    /// As people read them: `65000:1`, `rt:65000:7`, `1:2:3`.
    communities: Vec<String>,
    extended: Vec<String>,
    large: Vec<String>,
}

impl Decoded {
    pub fn read(attributes: &[u8]) -> Self {
        let all = Attributes::new(attributes);
        let value = |kind| all.value(kind).unwrap_or_default();
        let number = |kind| {
            let octets: [u8; 4] = all.value(kind)?.try_into().ok()?;
            Some(u32::from_be_bytes(octets).into())
        };
        let communities = value(AttributeType::Communities);
        let extended = value(AttributeType::ExtendedCommunities);
        let large = value(AttributeType::LargeCommunities);
        Self {
            origin: value(AttributeType::Origin)[0].into(),
            path: AsPath::new(value(AttributeType::AsPath), true).iter().collect(),
            med: number(AttributeType::MultiExitDisc),
            local_pref: number(AttributeType::LocalPref),
            aigp: aigp_metric(value(AttributeType::Aigp)),
            communities: Community::all(communities).map(|it| it.to_string()).collect(),
            extended: ExtendedCommunity::all(extended).map(show_extended).collect(),
            large: LargeCommunity::all(large).map(|it| it.to_string()).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.communities.iter().chain(&self.extended).chain(&self.large)
    }

    /// The list in which communities of that shape stand.
    fn list(&mut self, name: &str) -> &mut Vec<String> {
        match name.split(':').count() {
            _ if name.starts_with('r') => &mut self.extended,
            3 => &mut self.large,
            _ => &mut self.communities,
        }
    }
}

/// As people are shown it, but that the layout of a four-octet AS is told.
fn show_extended(community: ExtendedCommunity) -> String {
    let text = community.to_string();
    if community.0[0] == 2 { text.replacen(':', "4:", 1) } else { text }
}

/// A community of the configuration as people are shown it.
fn shown(line: &str) -> String {
    line.replace("large ", "").replace("rt ", "rt:").replace("ro ", "ro:")
}

/// Whether a line means the community; well-known ones are no numbers.
fn means(line: &str, community: &str) -> bool {
    let number = community.replace("no-export", "65535:65281").replace("rt4:", "rt:");
    let line = shown(line);
    if line == community || line == number {
        return true;
    }
    let (line, number): (Vec<&str>, Vec<&str>) =
        (line.split(':').collect(), number.split(':').collect());
    line.len() == number.len()
        && line.iter().zip(&number).all(|(part, number)| match part.split_once('-') {
            _ if *part == "*" => true,
            Some((least, most)) => {
                let [least, most, number] = [least, most, number].map(|it| it.parse::<u64>().ok());
                least <= number && number <= most
            }
            None => part == number,
        })
}

fn is_within(bounds: &Bounds, number: Option<u64>) -> bool {
    let Some(number) = number else { return false };
    match bounds {
        Bounds::Exactly(exactly) => u64::from(*exactly) == number,
        Bounds::Text(text) => {
            let (least, most) = text.split_once('-').unwrap();
            number >= least.parse().unwrap_or(0) && number <= most.parse().unwrap_or(u64::MAX)
        }
    }
}

const fn number_of(origin: OriginConfig) -> u64 {
    match origin {
        OriginConfig::Igp => 0,
        OriginConfig::Egp => 1,
        OriginConfig::Incomplete => 2,
    }
}

fn takes(rule: &RuleConfig, route: &Route, now: &Decoded) -> bool {
    let matches = &rule.matches;
    // Every route here is 10.1.2.0/24.
    let is_prefix = |lines: &Vec<String>| lines.iter().any(|line| line == "10.1.2.0/24");
    let has = |line: &String| now.all().any(|community| means(line, community));
    matches.prefixes.as_ref().is_none_or(is_prefix)
        && matches.communities.as_ref().is_none_or(|lines| lines.iter().any(has))
        && matches.all_communities.as_ref().is_none_or(|lines| lines.iter().all(has))
        && matches.med.as_ref().is_none_or(|it| is_within(it, now.med))
        && matches.local_pref.as_ref().is_none_or(|it| is_within(it, now.local_pref))
        && matches.validation.is_none_or(|it| route.validation == Some(it))
        && matches.origin.is_none_or(|it| number_of(it) == now.origin)
}

fn changed(amount: &AmountConfig, from: Option<u64>, lacks: Option<u64>, most: u64) -> Option<u64> {
    let text = match amount {
        AmountConfig::Exactly(number) => return Some(*number),
        AmountConfig::Text(text) => text,
    };
    let by = text[1..].parse::<i128>().ok()?;
    let from = i128::from(from.or(lacks)?);
    let to = if text.starts_with('+') { from + by } else { from - by };
    Some(to.clamp(0, most.into()) as u64)
}

fn change(rule: &RuleConfig, now: &mut Decoded) {
    let (set, most) = (&rule.set, u64::from(u32::MAX));
    if let Some(amount) = &set.local_pref {
        now.local_pref = changed(amount, now.local_pref, Some(100), most);
    }
    if let Some(amount) = &set.med {
        now.med = changed(amount, now.med, Some(0), most);
    }
    if let Some(amount) = &set.aigp {
        now.aigp = changed(amount, now.aigp, None, u64::MAX);
    }
    if let Some(origin) = set.origin {
        now.origin = number_of(origin);
    }
    if let Some(prepend) = &set.prepend {
        (0..prepend.times).for_each(|_| now.path.insert(0, prepend.asn));
    }
    if let Some(communities) = &set.communities {
        for list in [&mut now.communities, &mut now.extended, &mut now.large] {
            list.retain(|it| !communities.remove.iter().any(|line| means(line, it)));
        }
        for line in &communities.add {
            let name = shown(line);
            let list = now.list(&name);
            if !list.contains(&name) {
                list.push(name);
            }
        }
    }
}

/// What is accepted, as it is then; `None` for what is rejected.
pub fn evaluate(config: &PolicyConfig, route: &Route) -> Option<Decoded> {
    let mut now = Decoded::read(&route.attributes);
    for rule in &config.rule {
        if !takes(rule, route, &now) {
            continue;
        }
        change(rule, &mut now);
        match rule.then {
            Then::Accept => return Some(now),
            Then::Reject => return None,
            Then::Next => {}
        }
    }
    (config.default == Disposition::Accept).then_some(now)
}
