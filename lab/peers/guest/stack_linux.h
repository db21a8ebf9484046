/* The kernel's SCTP, by linux/sctp.h and without a library. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sctp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PRIMARY struct sctp_prim
#define CAUSE(error) ntohs(error)

static int fd = -1;

static int stack_open(unsigned short encapsulation) {
    (void)encapsulation;
    return fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
}

static int stack_set(int name, const void *value, socklen_t length) {
    return setsockopt(fd, IPPROTO_SCTP, name, value, length);
}

static int stack_get(int name, void *value, socklen_t *length) {
    return getsockopt(fd, IPPROTO_SCTP, name, value, length);
}

static int stack_bind(struct sockaddr_in *addresses, int count) {
    return stack_set(SCTP_SOCKOPT_BINDX_ADD, addresses, count * sizeof *addresses);
}

static int stack_unbind(struct sockaddr_in *address) {
    return stack_set(SCTP_SOCKOPT_BINDX_REM, address, sizeof *address);
}

static int stack_listen(void) { return listen(fd, 1); }

static int stack_accept(void) {
    int listener = fd;
    fd = accept(listener, 0, 0);
    close(listener);
    return fd;
}

static int stack_connect(struct sockaddr_in *addresses, int count) {
    int result = stack_set(SCTP_SOCKOPT_CONNECTX, addresses, count * sizeof *addresses);
    return result < 0 ? -1 : 0;
}

/* From now on nothing blocks but sending. */
static void stack_ready(void) {}

static int stack_send(const struct sctp_sndinfo *to, const struct sctp_prinfo *reliability,
                      const void *bytes, size_t length) {
    struct iovec part = { (void *)bytes, length };
    char control[CMSG_SPACE(sizeof *to) + CMSG_SPACE(sizeof *reliability)];
    memset(control, 0, sizeof control);
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
        .msg_controllen = sizeof control };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = IPPROTO_SCTP;
    head->cmsg_type = SCTP_SNDINFO;
    head->cmsg_len = CMSG_LEN(sizeof *to);
    memcpy(CMSG_DATA(head), to, sizeof *to);
    head = CMSG_NXTHDR(&message, head);
    head->cmsg_level = IPPROTO_SCTP;
    head->cmsg_type = SCTP_PRINFO;
    head->cmsg_len = CMSG_LEN(sizeof *reliability);
    memcpy(CMSG_DATA(head), reliability, sizeof *reliability);
    return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static ssize_t stack_receive(void *buffer, size_t length, struct sctp_rcvinfo *info, int *flags) {
    struct iovec part = { buffer, length };
    char control[256];
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
        .msg_controllen = sizeof control };
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
    *flags = message.msg_flags;
    if (got <= 0) return got;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == IPPROTO_SCTP && head->cmsg_type == SCTP_RCVINFO)
            memcpy(info, CMSG_DATA(head), sizeof *info);
    return got;
}

/* Waits for a line (1) or for the association (0). */
static int stack_wait(int is_open) {
    struct pollfd both[2] = {
        { .fd = 0, .events = POLLIN }, { .fd = is_open ? fd : -1, .events = POLLIN } };
    return poll(both, 2, -1) < 0 ? -1 : both[0].revents != 0;
}

static int stack_shut_down(void) { return shutdown(fd, SHUT_WR); }

static void stack_abort(void) {
    struct linger now = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}
