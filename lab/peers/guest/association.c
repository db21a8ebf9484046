/* One SCTP association of somebody else's stack, driven by lines on standard input; what happens is
 * told on standard output. The stack is that of the Linux kernel or, with -DUSRSCTP, usrsctp: only
 * their own interfaces (RFC 6458).
 *
 *   association [-l] [-p PORT] [-b ADDRESS]... [-c ADDRESS]... [-r PORT] [-o NAME[=VALUE]]...
 *
 * -l waits for one association, else it connects to the addresses of -c. -o sets what must be set
 * before: idata, reset, auth, asconf, chunk=TYPE, key=TEXT, encapsulation=PORT, streams=N, echo,
 * quiet, adaptation=N, nodelay, local-encapsulation=PORT (usrsctp: before all others). */
#define ADDRESSES_MAX 8
#define STREAMS_MAX 64
#define MESSAGE_MAX (1 << 20)

#ifdef USRSCTP
#include "stack_usrsctp.h"
#else
#include "stack_linux.h"
#endif

static struct sockaddr_in bound[ADDRESSES_MAX], peers[ADDRESSES_MAX];
static int bound_count, peer_count, echoes, is_quiet;
static unsigned short local_port, remote_port;

/* What has arrived of the message of each stream, and of the unordered one. */
static struct { unsigned char *bytes; size_t length; } partial[2][STREAMS_MAX];
static unsigned long messages;
static unsigned long long octets;
static uint64_t sum = 0xcbf29ce484222325ull;

static void say(const char *what, int result) {
    if (result < 0) printf("error %s %s\n", what, strerror(errno));
    else printf("ok %s\n", what);
}

static int set(int name, const void *value, socklen_t length) {
    return stack_set(name, value, length);
}

static int set_value(int name, uint32_t value) {
    struct sctp_assoc_value it = { .assoc_value = value };
    return set(name, &it, sizeof it);
}

static struct sockaddr_in address(const char *text, unsigned short port) {
    struct sockaddr_in it = { .sin_family = AF_INET, .sin_port = htons(port) };
    if (inet_pton(AF_INET, text, &it.sin_addr) != 1) {
        printf("error address %s\n", text);
        exit(2);
    }
    return it;
}

static const char *words(const void *storage) {
    static char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &((const struct sockaddr_in *)storage)->sin_addr, text, sizeof text);
}

static int set_key(unsigned number, const char *text) {
    size_t length = strlen(text);
    struct sctp_authkey *key = calloc(1, sizeof *key + length);
    key->sca_keynumber = number;
    key->sca_keylength = length;
    memcpy(key->sca_key, text, length);
    int result = set(SCTP_AUTH_KEY, key, sizeof *key + length);
    free(key);
    return result;
}

static int set_option(const char *name, const char *value) {
    unsigned number = value ? (unsigned)strtoul(value, 0, 0) : 0;
    if (!strcmp(name, "idata")) {
        int level = 2;
        int result = set(SCTP_FRAGMENT_INTERLEAVE, &level, sizeof level);
        return result < 0 ? result : set_value(SCTP_INTERLEAVING_SUPPORTED, 1);
    }
    if (!strcmp(name, "reset")) {
        int result = set_value(SCTP_RECONFIG_SUPPORTED, 1);
        return result < 0 ? result : set_value(SCTP_ENABLE_STREAM_RESET, 7);
    }
    if (!strcmp(name, "auth")) return set_value(SCTP_AUTH_SUPPORTED, 1);
    if (!strcmp(name, "asconf")) return set_value(SCTP_ASCONF_SUPPORTED, 1);
    if (!strcmp(name, "chunk")) {
        struct sctp_authchunk it = { .sauth_chunk = number };
        return set(SCTP_AUTH_CHUNK, &it, sizeof it);
    }
    if (!strcmp(name, "key")) return set_key(0, value);
    if (!strcmp(name, "encapsulation")) {
        struct sctp_udpencaps it = { .sue_port = htons(number) };
        it.sue_address.ss_family = AF_INET;
        return set(SCTP_REMOTE_UDP_ENCAPS_PORT, &it, sizeof it);
    }
    if (!strcmp(name, "streams")) {
        struct sctp_initmsg it = { .sinit_num_ostreams = number, .sinit_max_instreams = number };
        return set(SCTP_INITMSG, &it, sizeof it);
    }
    if (!strcmp(name, "adaptation")) {
        struct sctp_setadaptation it = { number };
        return set(SCTP_ADAPTATION_LAYER, &it, sizeof it);
    }
    if (!strcmp(name, "local-encapsulation")) return 0;
    if (!strcmp(name, "nodelay")) { int on = 1; return set(SCTP_NODELAY, &on, sizeof on); }
    if (!strcmp(name, "echo")) { echoes = 1; return 0; }
    if (!strcmp(name, "quiet")) { is_quiet = 1; return 0; }
    errno = EINVAL;
    return -1;
}

static void subscribe(void) {
    static const int kinds[] = { SCTP_ASSOC_CHANGE, SCTP_PEER_ADDR_CHANGE, SCTP_REMOTE_ERROR,
        SCTP_SEND_FAILED_EVENT, SCTP_SHUTDOWN_EVENT, SCTP_ADAPTATION_INDICATION,
        SCTP_STREAM_RESET_EVENT, SCTP_ASSOC_RESET_EVENT, SCTP_STREAM_CHANGE_EVENT };
    for (size_t at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        struct sctp_event it = { .se_type = kinds[at], .se_on = 1 };
        if (set(SCTP_EVENT, &it, sizeof it) < 0) say("subscribe", -1);
    }
    int on = 1;
    if (set(SCTP_RECVRCVINFO, &on, sizeof on) < 0) say("rcvinfo", -1);
}

static void tell_change(const struct sctp_assoc_change *it) {
    const char *state = it->sac_state == SCTP_COMM_UP ? "up"
        : it->sac_state == SCTP_COMM_LOST ? "lost"
        : it->sac_state == SCTP_RESTART ? "restart"
        : it->sac_state == SCTP_SHUTDOWN_COMP ? "shutdown-complete" : "cannot-start";
    printf("%s %u %u %u\n", state, it->sac_inbound_streams, it->sac_outbound_streams,
        CAUSE(it->sac_error));
}

static void tell_path(const struct sctp_paddr_change *it) {
    static const char *const states[] = { "available", "unreachable", "removed", "added",
        "made-primary", "confirmed", "potentially-failed" };
    unsigned state = it->spc_state - SCTP_ADDR_AVAILABLE;
    printf("path %s %s\n", words(&it->spc_aaddr), state < 7 ? states[state] : "?");
}

static void tell(const union sctp_notification *it) {
    switch (it->sn_header.sn_type) {
    case SCTP_ASSOC_CHANGE: tell_change(&it->sn_assoc_change); break;
    case SCTP_PEER_ADDR_CHANGE: tell_path(&it->sn_paddr_change); break;
    case SCTP_SHUTDOWN_EVENT: printf("shutdown\n"); break;
    case SCTP_SEND_FAILED_EVENT: printf("send-failed\n"); break;
    case SCTP_REMOTE_ERROR:
        printf("remote-error %u\n", ntohs(it->sn_remote_error.sre_error));
        break;
    case SCTP_ADAPTATION_INDICATION:
        printf("adaptation %u\n", it->sn_adaptation_event.sai_adaptation_ind); break;
    case SCTP_STREAM_RESET_EVENT: {
        const struct sctp_stream_reset_event *reset = &it->sn_strreset_event;
        size_t count = (reset->strreset_length - sizeof *reset) / sizeof(uint16_t);
        printf("reset %#x", reset->strreset_flags);
        for (size_t at = 0; at < count; at++) printf(" %u", reset->strreset_stream_list[at]);
        printf("\n");
        break;
    }
    case SCTP_ASSOC_RESET_EVENT:
        printf("association-reset %#x\n", it->sn_assocreset_event.assocreset_flags);
        break;
    case SCTP_STREAM_CHANGE_EVENT:
        printf("streams %#x %u %u\n", it->sn_strchange_event.strchange_flags,
            it->sn_strchange_event.strchange_instrms, it->sn_strchange_event.strchange_outstrms);
        break;
    default: printf("notification %#x\n", it->sn_header.sn_type);
    }
}

static void take_message(const struct sctp_rcvinfo *info, const unsigned char *bytes,
                         size_t length) {
    uint64_t own = 0xcbf29ce484222325ull;
    for (size_t at = 0; at < length; at++) {
        own = (own ^ bytes[at]) * 0x100000001b3ull;
        sum = (sum ^ bytes[at]) * 0x100000001b3ull;
    }
    messages++;
    octets += length;
    if (!is_quiet) {
        printf("data %u %u %u %u %zu %016llx\n", info->rcv_sid, info->rcv_ssn,
            ntohl(info->rcv_ppid), info->rcv_flags & SCTP_UNORDERED, length,
            (unsigned long long)own);
    }
    if (echoes) {
        struct sctp_prinfo whole = { 0 };
        unsigned flags = info->rcv_flags & SCTP_UNORDERED;
        struct sctp_sndinfo to = { .snd_sid = info->rcv_sid, .snd_ppid = info->rcv_ppid,
            .snd_flags = flags };
        if (stack_send(&to, &whole, bytes, length) < 0) say("echo", -1);
    }
}

/* Takes what is there: 0 when the association is over, -1 when there is nothing (any more). */
static int receive(void) {
    static unsigned char buffer[65536];
    struct sctp_rcvinfo info = { 0 };
    int flags = 0;
    ssize_t length = stack_receive(buffer, sizeof buffer, &info, &flags);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -1;
    if (length <= 0) {
        printf("closed %s\n", length < 0 ? strerror(errno) : "");
        return 0;
    }
    if (flags & MSG_NOTIFICATION) {
        tell((union sctp_notification *)buffer);
        return 1;
    }
    int is_unordered = (info.rcv_flags & SCTP_UNORDERED) != 0;
    __typeof__(&partial[0][0]) it = &partial[is_unordered][info.rcv_sid % STREAMS_MAX];
    if (!it->bytes) it->bytes = malloc(MESSAGE_MAX);
    if (it->length + length > MESSAGE_MAX) { printf("error message too long\n"); exit(2); }
    memcpy(it->bytes + it->length, buffer, length);
    it->length += length;
    if (flags & MSG_EOR) {
        take_message(&info, it->bytes, it->length);
        it->length = 0;
    }
    return 1;
}

/* send STREAM PPID KIND COUNT LENGTH: KIND is o(rdered), u(nordered), i(mmediate), tMS, rN, pN. */
static void send_all(const char *line) {
    unsigned stream, ppid, count, length;
    char kind[16];
    if (sscanf(line, "send %u %u %15s %u %u", &stream, &ppid, kind, &count, &length) != 5) {
        errno = EINVAL;
        return say("send", -1);
    }
    struct sctp_prinfo reliability = { .pr_value = strtoul(kind + 1, 0, 10) };
    unsigned flags = *kind == 'u' ? SCTP_UNORDERED : *kind == 'i' ? SCTP_SACK_IMMEDIATELY : 0;
    if (*kind == 't') reliability.pr_policy = SCTP_PR_SCTP_TTL;
    if (*kind == 'r') reliability.pr_policy = SCTP_PR_SCTP_RTX;
    if (*kind == 'p') reliability.pr_policy = SCTP_PR_SCTP_PRIO;
    struct sctp_sndinfo to = { .snd_sid = stream, .snd_ppid = htonl(ppid), .snd_flags = flags };
    unsigned char *bytes = malloc(length);
    int result = 0;
    for (unsigned n = 0; n < count && result == 0; n++) {
        for (unsigned at = 0; at < length; at++) bytes[at] = (unsigned char)(n * 31 + at);
        result = stack_send(&to, &reliability, bytes, length);
    }
    free(bytes);
    say("send", result);
}

/* reset in|out|both STREAM... */
static void reset(char *line) {
    char room[sizeof(struct sctp_reset_streams) + STREAMS_MAX * sizeof(uint16_t)] = { 0 };
    struct sctp_reset_streams *it = (void *)room;
    strtok(line, " ");
    const char *way = strtok(0, " ");
    it->srs_flags = !strcmp(way, "in") ? SCTP_STREAM_RESET_INCOMING
        : !strcmp(way, "out") ? SCTP_STREAM_RESET_OUTGOING
        : SCTP_STREAM_RESET_INCOMING | SCTP_STREAM_RESET_OUTGOING;
    for (char *word; (word = strtok(0, " ")) && it->srs_number_streams < STREAMS_MAX;)
        it->srs_stream_list[it->srs_number_streams++] = atoi(word);
    size_t length = sizeof *it + it->srs_number_streams * sizeof(uint16_t);
    say("reset", set(SCTP_RESET_STREAMS, it, length));
}

static void status(void) {
    struct sctp_status it = { 0 };
    socklen_t length = sizeof it;
    if (stack_get(SCTP_STATUS, &it, &length) < 0) return say("status", -1);
    printf("status state %d unacked %u pending %u in %u out %u primary %s\n", it.sstat_state,
        it.sstat_unackdata, it.sstat_penddata, it.sstat_instrms, it.sstat_outstrms,
        words(&it.sstat_primary.spinfo_address));
}

static void use_address(const char *line, const char *text) {
    struct sockaddr_in local = address(text, local_port);
    if (!strncmp(line, "add ", 4)) return say("add", stack_bind(&local, 1));
    if (!strncmp(line, "del ", 4)) return say("del", stack_unbind(&local));
    if (!strncmp(line, "primary ", 8)) {
        struct sockaddr_in remote = address(text, remote_port);
        PRIMARY it = { 0 };
        memcpy(&it.ssp_addr, &remote, sizeof remote);
        return say("primary", set(SCTP_PRIMARY_ADDR, &it, sizeof it));
    }
    struct sctp_setpeerprim it = { 0 };
    memcpy(&it.sspp_addr, &local, sizeof local);
    say("peer-primary", set(SCTP_SET_PEER_PRIMARY_ADDR, &it, sizeof it));
}

/* 0 when it was the last. */
static int command(char *line) {
    char text[128];
    unsigned one, two;
    if (!strncmp(line, "send ", 5)) send_all(line);
    else if (!strncmp(line, "reset ", 6)) reset(line);
    else if (!strcmp(line, "reset-association")) {
        sctp_assoc_t all = 0;
        say("reset-association", set(SCTP_RESET_ASSOC, &all, sizeof all));
    } else if (sscanf(line, "streams %u %u", &one, &two) == 2) {
        struct sctp_add_streams it = { .sas_instrms = one, .sas_outstrms = two };
        say("streams", set(SCTP_ADD_STREAMS, &it, sizeof it));
    } else if (sscanf(line, "key %u %127s", &one, text) == 2) say("key", set_key(one, text));
    else if (sscanf(line, "use-key %u", &one) == 1) {
        struct sctp_authkeyid it = { .scact_keynumber = one };
        say("use-key", set(SCTP_AUTH_ACTIVE_KEY, &it, sizeof it));
    } else if (sscanf(line, "%*s %127s", text) == 1) use_address(line, text);
    else if (!strcmp(line, "status")) status();
    else if (!strcmp(line, "sum"))
        printf("sum %lu %llu %016llx\n", messages, octets, (unsigned long long)sum);
    else if (!strcmp(line, "shutdown")) say("shutdown", stack_shut_down());
    else if (!strcmp(line, "abort")) {
        stack_abort();
        return 0;
    } else if (!strcmp(line, "quit")) return 0;
    else printf("error unknown %s\n", line);
    return 1;
}

static void run(void) {
    static char lines[4096];
    size_t length = 0;
    for (int is_open = 1;;) {
        fflush(stdout);
        int has_line = stack_wait(is_open);
        if (has_line < 0) return;
        for (int taken = 1; is_open && taken > 0;) {
            taken = receive();
            if (taken == 0) is_open = 0;
        }
        if (!has_line) continue;
        ssize_t got = read(0, lines + length, sizeof lines - length);
        if (got <= 0) return;
        length += got;
        for (char *end; (end = memchr(lines, '\n', length));) {
            *end = 0;
            size_t taken = end + 1 - lines;
            if (!command(lines)) return;
            memmove(lines, lines + taken, length -= taken);
        }
    }
}

int main(int count, char **arguments) {
    char *options[16];
    int listens = 0, option_count = 0;
    for (int flag; (flag = getopt(count, arguments, "lp:b:c:r:o:")) != -1;) switch (flag) {
    case 'l': listens = 1; break;
    case 'p': local_port = atoi(optarg); break;
    case 'r': remote_port = atoi(optarg); break;
    case 'b':
        if (bound_count < ADDRESSES_MAX) bound[bound_count++] = address(optarg, local_port);
        break;
    case 'c':
        if (peer_count < ADDRESSES_MAX) peers[peer_count++] = address(optarg, remote_port);
        break;
    case 'o': if (option_count < 16) options[option_count++] = optarg; break;
    default: return 2;
    }
    unsigned short encapsulation = 0;
    for (int at = 0; at < option_count; at++)
        sscanf(options[at], "local-encapsulation=%hu", &encapsulation);
    if (stack_open(encapsulation) < 0) return say("socket", -1), 1;
    for (int at = 0; at < option_count; at++) {
        char *value = strchr(options[at], '=');
        if (value) *value++ = 0;
        if (set_option(options[at], value) < 0) say(options[at], -1);
    }
    subscribe();
    if (stack_bind(bound, bound_count) < 0) return say("bind", -1), 1;
    if (listens) {
        if (stack_listen() < 0) return say("listen", -1), 1;
        printf("listening\n");
        fflush(stdout);
        if (stack_accept() < 0) return say("accept", -1), 1;
        subscribe();
        printf("accepted\n");
    } else {
        int result = stack_connect(peers, peer_count);
        say("connect", result);
        if (result < 0) return 1;
    }
    stack_ready();
    run();
    return 0;
}
