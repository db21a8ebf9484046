//! `media`: two phones (baresip) call one another through a session controller, whose media
//! controller carries their speech: SRTP on one side, RTP on the other.
//!
//! ```text
//!   alice ── SIP ── SSC ── SIP ── bob           a sine of 440 Hz ⇄ one of 880 Hz
//!     └─ SRTP ─ forwarder ─ RTP ──┘             each records what it hears
//! ```

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use anyhow::Context;
use attack::{Namespace, run_ip};
use peers::{Process, ProcessSpec};
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) const SCENE: Scene = Scene {
    name: "media",
    line: "two phones talk through the media controller, SRTP to RTP",
    about: &[
        "Two phones (baresip), each in a namespace of its own, call one another through the SSC.",
        "Their speech passes the media controller's forwarder: Alice speaks SRTP, Bob plain RTP.",
        "Each sends a tone and records what it hears; the ladder of the call has the media.",
    ],
    set,
};

const UP_MAX: Duration = Duration::from_secs(60);
/// How long they talk.
const TALK: Duration = Duration::from_secs(6);
const TURN: Duration = Duration::from_secs(1);
const SAMPLES_PER_S: usize = 8_000;
/// Tones, hertz.
const TONES: [u32; 2] = [440, 880];
const SUITE: &str = "AES_CM_128_HMAC_SHA1_80";

/// baresip in a namespace, which one wire of media and one of signalling go to.
struct Phone {
    name: &'static str,
    program: Option<Process>,
    namespace: Namespace,
    folder: PathBuf,
    device: String,
    address: String,
    controller: String,
}

impl Phone {
    fn new(place: &Place, name: &'static str, net: u8) -> anyhow::Result<Self> {
        let namespace = Namespace::new(&format!("demo-{name}"))?;
        // Fifteen octets at most.
        let (device, signalling) =
            (format!("td{}m{net}", std::process::id()), format!("td{}s{net}", std::process::id()));
        let (address, controller) = (format!("198.18.{net}.2"), format!("198.18.10{net}.1"));
        for (wire, inside) in [(&device, "eth0"), (&signalling, "eth1")] {
            let peer = ["peer", "name", inside, "netns", namespace.name()];
            run_ip(&[&["link", "add", "name", wire, "type", "veth"][..], &peer].concat())?;
            for (version, key, value) in
                [("ipv6", "disable_ipv6", "1"), ("ipv4", "arp_ignore", "8")]
            {
                let path = format!("/proc/sys/net/{version}/conf/{wire}/{key}");
                // The wire of signalling is the kernel's. One without IPv6 switches nothing off.
                if Path::new(&path).exists() && (inside == "eth0" || version == "ipv6") {
                    fs::write(&path, value).with_context(|| path.clone())?;
                }
            }
            run_ip(&["link", "set", "dev", wire, "up"])?;
            namespace.ip(&["link", "set", inside, "up"])?;
        }
        namespace.ip(&["address", "add", &format!("{address}/24"), "dev", "eth0"])?;
        run_ip(&["address", "add", &format!("{controller}/32"), "dev", &signalling])?;
        let near = format!("{address}/32");
        run_ip(&["route", "add", &near, "dev", &signalling, "src", &controller])?;
        let far = format!("{controller}/32");
        namespace.ip(&["route", "add", &far, "dev", "eth1", "src", &address])?;
        let folder = place.directory.join(name);
        fs::create_dir(&folder)?;
        Ok(Self { name, program: None, namespace, folder, device, address, controller })
    }

    /// Starts it; `more` are parameters of its account.
    fn start(&mut self, tone: u32, more: &str) -> anyhow::Result<()> {
        let (address, place) = (&self.address, self.folder.display());
        let text = format!(
            "sip_listen {address}:5060\naudio_source ausine,{tone}\nausrc_srate 48000\n\
             ausrc_channels 2\naudio_player aubridge,none\nauplay_srate 8000\nauplay_channels 1\n\
             module_path /usr/lib/baresip/modules\nmodule g711.so\nmodule ausine.so\n\
             module aubridge.so\nmodule sndfile.so\nsnd_path {place}\nmodule srtp.so\n\
             module_tmp uuid.so\nmodule_tmp account.so\nmodule_app menu.so\nmodule_app cons.so\n\
             cons_listen {address}:5555\nringback_disabled yes\nmenu_bell no\n"
        );
        fs::write(self.folder.join("config"), text)?;
        fs::write(self.folder.join("contacts"), "")?;
        let (name, controller) = (self.name, &self.controller);
        let account = format!(
            "<sip:{name}@{address}>;regint=0;outbound=\"sip:{controller}:5060\";answermode=auto;\
             audio_codecs=PCMA{more}\n"
        );
        fs::write(self.folder.join("accounts"), account)?;
        let directory = self.folder.parent().unwrap_or(&self.folder);
        let mut spec = ProcessSpec::new(name, "baresip", directory);
        spec.namespace = Some(self.namespace.name().to_owned());
        let folder = self.folder.display().to_string();
        self.program = Some(Process::start(&spec.with(["-4", "-v", "-f", &folder]))?);
        Ok(())
    }

    fn log_end(&self) -> String {
        self.program.as_ref().map(Process::log_end).unwrap_or_default()
    }

    /// What is typed at its console, over UDP.
    fn types(&self, text: &str) -> anyhow::Result<()> {
        let socket = UdpSocket::bind((self.controller.as_str(), 0))?;
        socket.send_to(text.as_bytes(), (self.address.as_str(), 5555))?;
        Ok(())
    }

    /// Tenths of a second that it heard of this tone alone.
    fn heard(&self, tone: u32) -> anyhow::Result<u64> {
        let mut tenths = 0;
        for entry in fs::read_dir(&self.folder)?.flatten() {
            if entry.path().to_string_lossy().ends_with("-dec.wav") {
                let octets = fs::read(entry.path())?;
                let samples = octets.get(44..).unwrap_or_default().chunks_exact(2);
                let samples: Vec<f64> =
                    samples.map(|it| i16::from_le_bytes([it[0], it[1]]).into()).collect();
                let parts = samples.chunks_exact(SAMPLES_PER_S / 10);
                tenths += parts.filter(|part| is_tone(part, tone)).count() as u64;
            }
        }
        Ok(tenths)
    }
}

/// Whether nearly all of the power is at this frequency.
fn is_tone(samples: &[f64], hertz: u32) -> bool {
    let turn = std::f64::consts::TAU * f64::from(hertz) / SAMPLES_PER_S as f64;
    let part = |of: fn(f64) -> f64| -> f64 {
        samples.iter().enumerate().map(|(at, it)| it * of(turn * at as f64)).sum()
    };
    let power: f64 = samples.iter().map(|it| it * it).sum();
    let at_tone = part(f64::cos).hypot(part(f64::sin)).powi(2) * 2.0 / samples.len() as f64;
    power > 0.0 && at_tone > 0.8 * power
}

struct Media {
    // Phones end before their site, and their wires after both.
    phones: [Phone; 2],
    site: Site,
    place: Place,
    /// The stream while they talked.
    stream: Value,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let installed = Command::new("baresip").arg("-h").output();
    installed.context("baresip is not installed (Debian: baresip-core)")?;
    let phone = |name, net| {
        Phone::new(place, name, net).context("network namespaces and their wires need root")
    };
    let mut phones = [phone("alice", 5)?, phone("bob", 6)?];
    let api = place.address([127, 0, 0, 1], 8080)?;
    let collector = place.address([127, 0, 0, 1], 9060)?;
    let controller = place.address([127, 0, 0, 1], 2970)?;
    let [alice, bob] = &phones;
    let listen = |phone: &Phone| [format!("udp:{}:5060", phone.controller)];
    let mut file = SiteFile::new("demo", &place.directory, api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\"]"))
        .with(format_args!("[[ssc]]\nname = \"ssc1\"\ncapture = \"tcp:{collector}\""))
        .with("[ssc.media]\npairs_min = 64")
        .with("[[ssc.media.controller]]\nname = \"msc1\"")
        .with(format_args!("address = \"{controller}\""))
        .realm("access", "access", &listen(alice))
        .with("media = { anchor = true, srtp = \"optional\" }")
        .realm("core", "core", &listen(bob))
        .with("media = { anchor = true }")
        .next_hop("bob", format_args!("udp:{}:5060", bob.address))
        .route("access", "bob")
        .with(format_args!("[[msc]]\nname = \"msc1\"\nlisten = \"{controller}\""))
        .with(format_args!("capture = \"tcp:{collector}\""));
    for (phone, group, net) in [(alice, "access", 5), (bob, "core", 6)] {
        file = file
            .with(format_args!("[[msc.port]]\nname = \"{group}\"\ndriver = \"af_packet\""))
            .with(format_args!("device = \"{}\"", phone.device))
            .with(format_args!("[[msc.interface]]\nname = \"{group}\""))
            .with(format_args!("addresses = [\"198.18.{net}.1/24\"]"))
            .with(format_args!("[[msc.group]]\nname = \"{group}\""))
            .with(format_args!("addresses = [\"198.18.{net}.1\"]\nports = \"20000-21999\""));
    }
    let spec = Site::spec(&place.tandem, &place.directory);
    let site = Site::start(&spec, &file.text(), api)?;
    phones[0].start(TONES[0], ";mediaenc=srtp-mand")?;
    phones[1].start(TONES[1], "")?;
    let (place, stream) = (place.clone(), Value::Null);
    Ok(Box::new(Media { phones, site, place, stream }))
}

impl Play for Media {
    fn programme(&self) -> Programme {
        let [alice, bob] = &self.phones;
        Programme {
            look: "Media: the stream and its quality; Calls: the ladder with the media lane".into(),
            tries: &[
                ["streams", "what is forwarded, with codec, suite and quality"],
                ["media", "the media controller: streams, leases, drops"],
                ["plane ports", "packets in and out"],
            ],
            ..Programme::default()
        }
        .with("SSC, SAS", "signalling, and the trails of calls", "")
        .with("MSC, its forwarder", "the media of calls", "198.18.5.1, 198.18.6.1")
        .with("alice", "baresip: SRTP (SDES)", &alice.address)
        .with("bob", "baresip: RTP", &bob.address)
    }

    fn console(&self) -> String {
        self.site.console_at("/media")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        self.place.must("the phones are ready", UP_MAX, || {
            Ok(self.phones.iter().all(|phone| phone.log_end().contains("baresip is ready")))
        })?;
        // A call before that is refused with 503, and baresip does not call again.
        self.place.must("the media controller has leased ports", UP_MAX, || self.has_ports())?;
        screen.event("alice calls bob")?;
        self.call()?;
        screen.event("both hear the other's tone")?;
        self.place.pause(TALK);
        let streams = self.streams()?;
        self.stream = streams.first().cloned().unwrap_or_default();
        for (phone, end) in self.phones.iter().zip(0..) {
            let end = &self.stream["ends"][end];
            let text = |key: &str| end[key].as_str().unwrap_or("unknown").to_owned();
            let (packets, lost) = (&end["packets"], &end["lost"]);
            let said = format!("{packets} packets, {lost} lost");
            let line = format!("{}: {}, {}, {said}", phone.name, text("suite"), text("codec"));
            screen.event(&line)?;
        }
        if self.place.stays {
            screen.event("they talk on")?;
            return Ok(());
        }
        self.hang_up()?;
        screen.event("alice hangs up: no stream stands, and the ports are given back")?;
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "they talk on"
    }

    fn go_on(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        self.place.pause(TURN);
        if self.streams()?.is_empty() && !self.place.is_over() {
            screen.event("the call has ended; alice calls again")?;
            self.call()?;
        }
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let [alice, bob] = &self.phones;
        let suites = [&self.stream["ends"][0]["suite"], &self.stream["ends"][1]["suite"]];
        let right = u64::from(suites == [SUITE, "RTP"]);
        let packets = [0, 1].map(|end| self.stream["ends"][end]["packets"].as_u64().unwrap_or(0));
        Ok(vec![
            Figure::some(alice.heard(TONES[1])?, "tenths of a second of bob's tone at alice"),
            Figure::some(bob.heard(TONES[0])?, "tenths of a second of alice's tone at bob"),
            Figure::all(right, 1, "stream from SRTP to RTP"),
            Figure::some(packets[0], "packets of SRTP that were opened, when last counted"),
            Figure::some(packets[1], "packets of RTP that were protected, when last counted"),
        ])
    }

    fn logs(&self) -> Vec<(String, String)> {
        let log = self.place.directory.join("var/msc1.forwarder.log");
        let forwarder = fs::read_to_string(log).unwrap_or_default();
        let [alice, bob] = &self.phones;
        vec![
            ("the forwarder".into(), forwarder),
            ("the site".into(), self.site.log_end()),
            ("alice".into(), alice.log_end()),
            ("bob".into(), bob.log_end()),
        ]
    }
}

impl Media {
    /// Alice calls, until both hear the other one.
    fn call(&self) -> anyhow::Result<()> {
        let [alice, bob] = &self.phones;
        let before = [alice.heard(TONES[1])?, bob.heard(TONES[0])?];
        alice.types(&format!("/dial sip:bob@{}\n", alice.controller))?;
        self.place.must("both hear the other one", UP_MAX, || {
            let now = [alice.heard(TONES[1])?, bob.heard(TONES[0])?];
            Ok(now[0] > before[0] && now[1] > before[1])
        })
    }

    fn hang_up(&self) -> anyhow::Result<()> {
        self.phones[0].types("/hangup\n")?;
        self.place.must("the stream ends", UP_MAX, || Ok(self.streams()?.is_empty()))
    }

    /// Whether every shard of the SSC has ports of both groups.
    fn has_ports(&self) -> anyhow::Result<bool> {
        let rows = self.site.get("functions/ssc1/media-controllers")?;
        let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
        let has = |group: &Value| group["pairs_leased"].as_u64().is_some_and(|pairs| pairs > 0);
        let is_ready = |row: &Value| {
            row["state"] == "up"
                && row["groups"].as_array().is_some_and(|all| all.len() == 2 && all.iter().all(has))
        };
        Ok(!rows.is_empty() && rows.iter().all(is_ready))
    }

    fn streams(&self) -> anyhow::Result<Vec<Value>> {
        let streams = self.site.get("functions/msc1/streams")?;
        Ok(streams.as_array().cloned().unwrap_or_default())
    }
}
