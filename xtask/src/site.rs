//! A running site of the end-to-end run: an SSC, a SAS and the API on loopback ports of its own.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const READY_MAX: Duration = Duration::from_secs(20);
const STOP_MAX: Duration = Duration::from_secs(15);

/// A site that is stopped, and its folder removed, when it goes.
pub struct Site {
    process: Child,
    folder: PathBuf,
    /// Where the API listens.
    pub url: String,
    /// Where the SSC takes calls from subscribers.
    pub access: String,
    /// Where the SSC sends calls of the core side.
    pub core: String,
}

impl Site {
    /// Starts `binary run` and waits until it is ready.
    pub fn start(binary: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("tandem-e2e-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let (api, hep) = (free_tcp()?, free_tcp()?);
        let (access, core_side, core) = (free_udp()?, free_udp()?, free_udp()?);
        let text = format!(
            r#"
[site]
name = "end-to-end"
directory = "{folder}/var"
[oam]
listen = "{api}"
[[ssc]]
name = "ssc1"
capture = "tcp:{hep}"
[[ssc.realm]]
name = "access"
side = "access"
listen = ["udp:{access}"]
[[ssc.realm]]
name = "core"
side = "core"
listen = ["udp:{core_side}"]
[[ssc.next_hop]]
name = "softswitch"
realm = "core"
targets = ["udp:{core}"]
[[ssc.route]]
from = "access"
to = ["softswitch"]
[sas]
listen = ["tcp:{hep}"]
directory = "{folder}/sas"
"#,
            folder = folder.display()
        );
        let file = folder.join("site.toml");
        fs::write(&file, text)?;
        let log = fs::File::create(folder.join("log"))?;
        let process = Command::new(binary)
            .arg("run")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not start", binary.display()))?;
        let mut site = Self { process, folder, url: format!("http://{api}"), access, core };
        site.await_ready(&api)?;
        Ok(site)
    }

    fn await_ready(&mut self, api: &str) -> Result<()> {
        let until = Instant::now() + READY_MAX;
        while Instant::now() < until {
            if let Some(status) = self.process.try_wait()? {
                anyhow::bail!("the site ended with {status}:\n{}", self.log());
            }
            if TcpStream::connect(api).is_ok() && self.folder.join("var/token").exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        anyhow::bail!("the site is not ready after {READY_MAX:?}:\n{}", self.log())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The site file.
    pub fn text(&self) -> Result<String> {
        Ok(fs::read_to_string(self.folder.join("site.toml"))?)
    }

    /// The token that opens the API.
    pub fn token(&self) -> Result<String> {
        Ok(fs::read_to_string(self.folder.join("var/token"))?.trim().to_owned())
    }

    /// Drains the site by SIGTERM; it must end by itself with status 0.
    pub fn stop(mut self) -> Result<()> {
        Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status()?;
        let until = Instant::now() + STOP_MAX;
        while Instant::now() < until {
            if let Some(status) = self.process.try_wait()? {
                ensure!(status.success(), "the site ended with {status}:\n{}", self.log());
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        anyhow::bail!("the site did not end within {STOP_MAX:?} of SIGTERM:\n{}", self.log())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Both fail when the site has ended as it should; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn free_tcp() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// A UDP address of this host that is free.
pub fn free_udp() -> Result<String> {
    Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
