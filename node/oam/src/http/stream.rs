//! The ways in which the API is reached: TCP, and a socket of this machine, whose users the kernel
//! names.

use super::limits::Source;
use crate::token::{Principal, Role};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Who may use the socket of this machine beside root.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The number of the process's user.
    pub user: u32,
    /// Its name, for the log and the history of the configuration.
    pub name: String,
}

impl Owner {
    /// Who a user is to the API: root and the owner are administrators, and nobody else is heard.
    fn admits(&self, user: u32) -> Option<Principal> {
        let name = match user {
            0 => "root",
            user if user == self.user => &self.name,
            _ => return None,
        };
        // No token has a colon in its name.
        Some(Principal::local(Arc::from(format!("local:{name}")), Role::Administrator))
    }
}

/// Where connections come in.
pub enum Listener {
    /// TCP, for who has a token.
    Tcp(TcpListener),
    /// A socket of this machine, for root and its owner.
    Local(UnixListener, Owner),
}

/// A connection that came in.
pub struct Arrived {
    /// The connection.
    pub stream: Stream,
    /// Where it comes from.
    pub source: Source,
    /// Who the kernel says it is.
    pub user: Option<Principal>,
}

impl Listener {
    /// The next connection.
    ///
    /// # Errors
    /// The kernel's; `PermissionDenied`: a user who is not heard.
    pub async fn accept(&self) -> io::Result<Arrived> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok(Arrived { stream: Stream::Tcp(stream), source: from.into(), user: None })
            }
            Self::Local(listener, owner) => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred()?.uid();
                let Some(principal) = owner.admits(user) else {
                    let what = format!("user {user} at the socket of this machine");
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
                };
                let (stream, source) = (Stream::Local(stream), Source::MACHINE);
                Ok(Arrived { stream, source, user: Some(principal) })
            }
        }
    }
}

/// A connection of either kind.
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// The socket of this machine.
    Local(UnixStream),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Local(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Local(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Local(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Local(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_owner_are_administrators_and_nobody_else_is_heard() {
        let owner = Owner { user: 1_000, name: "tandem".into() };
        for (user, name) in [(0, "local:root"), (1_000, "local:tandem")] {
            let principal = owner.admits(user).unwrap();
            assert_eq!((&*principal.name, principal.role), (name, Role::Administrator));
        }
        assert!(owner.admits(1_001).is_none() && owner.admits(u32::MAX).is_none());
    }
}
