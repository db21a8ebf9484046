//! The system calls: UDP by the batch, TCP, TLS, epoll, pinning.
