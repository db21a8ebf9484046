/* usrsctp (Debian libusrsctp-dev). */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usrsctp.h>

/* What its public header leaves out, and what Linux calls otherwise. */
#define PRIMARY struct sctp_setprim
#define CAUSE(error) (error)
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206
#define SCTP_PR_SCTP_PRIO SCTP_PR_SCTP_BUF
#define POLL_MS 2

static struct socket *stack_socket;

static int stack_open(unsigned short encapsulation) {
    usrsctp_init(encapsulation, 0, 0);
    usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
    usrsctp_sysctl_set_sctp_ecn_enable(0);
    usrsctp_sysctl_set_sctp_rto_min_default(100);
    usrsctp_sysctl_set_sctp_rto_initial_default(200);
    usrsctp_sysctl_set_sctp_rto_max_default(400);
    usrsctp_sysctl_set_sctp_path_rtx_max_default(2);
    usrsctp_sysctl_set_sctp_heartbeat_interval_default(500);
    stack_socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, 0, 0, 0, 0);
    return stack_socket ? 0 : -1;
}

static int stack_set(int name, const void *value, socklen_t length) {
    return usrsctp_setsockopt(stack_socket, IPPROTO_SCTP, name, value, length);
}

static int stack_get(int name, void *value, socklen_t *length) {
    return usrsctp_getsockopt(stack_socket, IPPROTO_SCTP, name, value, length);
}

static int stack_bind(struct sockaddr_in *addresses, int count) {
    return usrsctp_bindx(stack_socket, (struct sockaddr *)addresses, count, SCTP_BINDX_ADD_ADDR);
}

static int stack_unbind(struct sockaddr_in *address) {
    return usrsctp_bindx(stack_socket, (struct sockaddr *)address, 1, SCTP_BINDX_REM_ADDR);
}

static int stack_listen(void) { return usrsctp_listen(stack_socket, 1); }

static int stack_accept(void) {
    struct socket *listener = stack_socket;
    stack_socket = usrsctp_accept(listener, 0, 0);
    return stack_socket ? 0 : -1;
}

static int stack_connect(struct sockaddr_in *addresses, int count) {
    return usrsctp_connectx(stack_socket, (struct sockaddr *)addresses, count, 0);
}

static void stack_ready(void) { usrsctp_set_non_blocking(stack_socket, 1); }

static int stack_send(const struct sctp_sndinfo *to, const struct sctp_prinfo *reliability,
                      const void *bytes, size_t length) {
    struct sctp_sendv_spa it = { .sendv_flags = SCTP_SEND_SNDINFO_VALID, .sendv_sndinfo = *to };
    if (reliability->pr_policy) {
        it.sendv_flags |= SCTP_SEND_PRINFO_VALID;
        it.sendv_prinfo = *reliability;
    }
    usrsctp_set_non_blocking(stack_socket, 0);
    ssize_t sent = usrsctp_sendv(
        stack_socket, bytes, length, 0, 0, &it, sizeof it, SCTP_SENDV_SPA, 0);
    usrsctp_set_non_blocking(stack_socket, 1);
    return sent < 0 ? -1 : 0;
}

static ssize_t stack_receive(void *buffer, size_t length, struct sctp_rcvinfo *info, int *flags) {
    struct sockaddr_in from;
    socklen_t from_length = sizeof from, info_length = sizeof *info;
    unsigned kind = 0;
    return usrsctp_recvv(stack_socket, buffer, length, (struct sockaddr *)&from, &from_length,
        info, &info_length, &kind, flags);
}

/* Looks for a line (1); the association is asked each time. */
static int stack_wait(int is_open) {
    struct pollfd lines = { .fd = 0, .events = POLLIN };
    return poll(&lines, 1, is_open ? POLL_MS : -1) < 0 ? -1 : lines.revents != 0;
}

static int stack_shut_down(void) { return usrsctp_shutdown(stack_socket, SHUT_WR); }

static void stack_abort(void) {
    struct linger now = { 1, 0 };
    usrsctp_setsockopt(stack_socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    usrsctp_close(stack_socket);
    usleep(100 * 1000);
}
