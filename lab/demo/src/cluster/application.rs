//! Instances of an application on TCAP, one at each node: they go on with what begins, and end
//! what goes on.

use anyhow::Context;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use tcu::{Client, ClientEvent, Hello, Indication, Portion, Request, Spelling};

/// Name of the application, and of its socket.
pub(super) const NAME: &str = "hlr";
pub(super) const SOCKET: &str = "hlr.sock";
const READ_BYTES: usize = 65_536;

/// An instance; it leaves when dropped.
pub(super) struct Instance(UnixStream);

impl Drop for Instance {
    fn drop(&mut self) {
        // Its node may have ended before.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Instance {
    /// Connects to the node that listens there, and serves on a thread of its own.
    pub(super) fn connect(socket: &Path) -> anyhow::Result<Self> {
        let stream =
            UnixStream::connect(socket).with_context(|| format!("{}", socket.display()))?;
        let own = stream.try_clone()?;
        thread::spawn(move || serve(own));
        Ok(Self(stream))
    }
}

fn serve(mut stream: UnixStream) {
    let mut client = Client::new(Hello::new(NAME, "", "one"), Spelling::Tagged, None);
    let (mut octets, mut out) = (vec![0; READ_BYTES], client.greeting());
    while stream.write_all(&out).is_ok() {
        let Ok(length @ 1..) = stream.read(&mut octets) else { return };
        let mut wants = Vec::new();
        let mut told = |event| wants.extend(answer(event));
        let Ok(next) = client.received(&octets[..length], &mut told) else { return };
        out = next;
        wants.iter().for_each(|it| client.write(it, &mut out));
    }
}

/// What a dialogue is told: it stands after its first message, and ends after the second.
fn answer(event: ClientEvent) -> Option<Request> {
    let portion = Portion::default();
    match event {
        ClientEvent::Indication(Indication::Begin { dialogue, .. }) => {
            Some(Request::Continue { dialogue, state: None, portion })
        }
        ClientEvent::Indication(Indication::Continue { dialogue, .. }) => {
            Some(Request::End { dialogue, is_prearranged: false, portion })
        }
        _ => None,
    }
}
