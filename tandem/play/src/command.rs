//! What `tandem lab play` is told.

use clap::Args;

/// A scenario, and where and how often it is played.
#[derive(Debug, Args)]
pub struct Play {
    /// A file, or the name of a scenario that comes with Tandem.
    #[arg(value_name = "FILE", required_unless_present_any = ["list", "show"])]
    pub file: Option<String>,
    /// Name the scenarios that come with Tandem, a line each.
    #[arg(long, conflicts_with = "file")]
    pub list: bool,
    /// Print one of them: a file to begin with.
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub show: Option<String>,
    /// Where a role is: smsc=unix:var/smsc.sock, hlr=tcp:127.0.0.1:7700, smsc=m3ua:127.0.0.1:2905;
    /// roles without a place are played elsewhere then. Without any, all play inside this process.
    #[arg(long, value_name = "ROLE=PLACE")]
    pub at: Vec<String>,
    /// Another value of a key of a role: smsc.point_code=2-100-5.
    #[arg(long, value_name = "ROLE.KEY=VALUE")]
    pub role: Vec<String>,
    /// Only this role, of those that have a place.
    #[arg(long, value_name = "ROLE")]
    pub only: Vec<String>,
    /// Another value of the file's `values`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub value: Vec<String>,
    /// A CSV file in place of a table.
    #[arg(long, value_name = "NAME=FILE")]
    pub table: Vec<String>,
    /// Plays in all; absent: as many as are due.
    #[arg(long, short = 'n')]
    pub count: Option<u64>,
    /// Plays a second; absent: as the file says, and so are the times.
    #[arg(long)]
    pub rate: Option<f64>,
    /// Seconds in which the rate rises from nothing.
    #[arg(long, value_name = "SECONDS")]
    pub ramp: Option<f64>,
    /// Seconds of the measurement. Roles that only answer do so for that long; absent: until they
    /// are interrupted.
    #[arg(long, value_name = "SECONDS")]
    pub measure: Option<f64>,
    /// Seconds at most in which plays end that are under way.
    #[arg(long, value_name = "SECONDS")]
    pub drain: Option<f64>,
    /// What random choices are made with.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// One JSON object on standard output and nothing else.
    #[arg(long)]
    pub json: bool,
}
