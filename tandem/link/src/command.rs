//! The command line of `tandem lab link`.

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser};
use link::{GilbertElliott, Place, Probability, Queue, Rate, Shape, Span};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Two namespaces, each with the near end of a pair; the link stands between the far ends:
  ip netns add left; ip netns add right
  ip link add far0 type veth peer name near netns left
  ip link add far1 type veth peer name near netns right
  ip link set far0 up; ip link set far1 up
  ip -n left address add 10.0.0.1/24 dev near; ip -n left link set near up
  ip -n right address add 10.0.0.2/24 dev near; ip -n right link set near up
  tandem lab link --between far0 far1 --delay 10ms --rate 100mbit --loss 1% --cut 30s --heal 60s
  tandem lab link --between far0 far1 --rate 20mbit --reverse --rate 2mbit --queue 50";

/// Put emulated links between interfaces, for packets of any program.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Link {
    /// The link's ends: interfaces, in another namespace as NAMESPACE/INTERFACE.
    #[arg(long, num_args = 2, value_names = ["ONE", "TWO"])]
    #[arg(required_unless_present = "file")]
    pub between: Vec<Place>,
    /// Several links and what happens to them, in a file (docs/lab.md).
    #[arg(long, value_name = "LINK.toml")]
    pub file: Option<PathBuf>,
    /// Cut both ways so long after the start; several with commas.
    #[arg(long, value_name = "TIME", value_delimiter = ',', conflicts_with = "file")]
    pub cut: Vec<Span>,
    /// Heal them again.
    #[arg(long, value_name = "TIME", value_delimiter = ',', conflicts_with = "file")]
    pub heal: Vec<Span>,
    /// Where all chance comes from: the same seed, the same losses; absent: that of the file, or 1.
    #[arg(long)]
    pub seed: Option<u64>,
    /// End by itself after so long; absent: at SIGINT or SIGTERM.
    #[arg(long, value_parser = RangedU64ValueParser::<u64>::new().range(1..=86_400))]
    pub seconds: Option<u64>,
    /// One JSON object on standard output at the end and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Options of the way back, the last on the line; what is absent is as on the way there.
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "OPTIONS")]
    #[arg(conflicts_with = "file")]
    pub reverse: Vec<String>,
    /// How the way there behaves.
    // The last: its heading holds for whatever follows.
    #[command(flatten)]
    pub way: WayOptions,
}

/// What follows `--reverse`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, override_usage = "--reverse OPTIONS")]
pub struct Reverse {
    /// How the way back behaves.
    #[command(flatten)]
    pub way: WayOptions,
}

/// How one way behaves.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Behaviour (also after --reverse)")]
pub struct WayOptions {
    /// Time on the way: 10ms.
    #[arg(long, value_name = "TIME")]
    pub delay: Option<Span>,
    /// How far the delay wanders, up and down.
    #[arg(long, value_name = "TIME")]
    pub jitter: Option<Span>,
    /// How it is distributed: uniform, normal, pareto.
    #[arg(long)]
    pub distribution: Option<Shape>,
    /// How much of its jitter a packet inherits from the one before: 25%.
    #[arg(long, value_name = "SHARE")]
    pub correlation: Option<Probability>,
    /// Packets may overtake each other by jitter.
    #[arg(long)]
    pub overtake: bool,
    /// Bits a second: 64kbit, 100mbit, 2.5gbit.
    #[arg(long)]
    pub rate: Option<Rate>,
    /// Octets that each packet takes beside its own (Ethernet's preamble, check and gap: 24).
    #[arg(long, value_name = "OCTETS")]
    pub overhead: Option<u32>,
    /// What may wait for the rate: 100 (packets), 64kB, or 100,64kB; absent: 1000 packets.
    #[arg(long)]
    pub queue: Option<Queue>,
    /// Packets lost on the wire: 1%.
    #[arg(long, value_name = "SHARE")]
    pub loss: Option<Probability>,
    /// Losses in bursts, by the model of Gilbert and Elliott: 1%,20%.
    #[arg(long, value_name = "P,R[,1-H[,1-K]]", conflicts_with = "loss")]
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Packets that arrive twice.
    #[arg(long, value_name = "SHARE")]
    pub duplicate: Option<Probability>,
    /// Packets that are held back, so that others overtake them.
    #[arg(long, value_name = "SHARE")]
    pub reorder: Option<Probability>,
    /// For how long; absent: 10ms.
    #[arg(long, value_name = "TIME")]
    pub hold: Option<Span>,
    /// Packets with flipped bits behind the link-layer header.
    #[arg(long, value_name = "SHARE")]
    pub corrupt: Option<Probability>,
    /// How many bits of such a packet; absent: 1.
    #[arg(long, value_name = "BITS")]
    pub corrupt_bits: Option<u32>,
    /// A cut also loses what waits and what is on its way; else that still arrives.
    #[arg(long)]
    pub spill: bool,
}

impl WayOptions {
    /// What was said.
    pub fn way(&self) -> link::Way {
        link::Way {
            delay: self.delay,
            jitter: self.jitter,
            distribution: self.distribution,
            correlation: self.correlation,
            overtake: self.overtake.then_some(true),
            rate: self.rate,
            overhead: self.overhead,
            queue: self.queue,
            loss: self.loss,
            gilbert_elliott: self.gilbert_elliott,
            duplicate: self.duplicate,
            reorder: self.reorder,
            hold: self.hold,
            corrupt: self.corrupt,
            corrupt_bits: self.corrupt_bits,
            spill: self.spill.then_some(true),
        }
    }
}
