// SPDX-License-Identifier: Apache-2.0
// The one program before an interface (XDP): the fence's verdict first, then whose a frame is.
//
//   not towards a listener of ours, or a listener that trusts everybody ──→ on
//   trusted prefix, known source ────────────────────────────────→ on
//   blacklisted ─────────────────────────────────────────────────→ drop
//   a segment of a connection that is no SYN ────────────────────→ on
//   datagram, SYN, echo request ─→ own bucket ─→ bucket of its kind ─→ on
//                                       └─ empty: drop ────┘
//   on ─→ route of its address, protocol, port ─→ route of its address, protocol
//      ─→ owner of the whole interface ─→ the kernel
//
// A fence or a port is an owner: a number, and a socket in OWNERS that the kernel takes out when it
// is closed, however its process ends. Listeners and routes of an owner that is gone are none.
// A route whose owner has no socket for the queue leads to the kernel.
//
// Everything that it goes by is written by src/xdp.rs, filter.rs and xdp/redirect.rs here; names
// and layouts of the maps are those that they expect. A bucket is one number, the time at which it
// will be full again (GCRA, ITU-T I.371 annex A). interface.o is made of this by
// `cargo xtask bpf`.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#define SEC(name) __attribute__((section(name), used))
#define FOLDED static __attribute__((always_inline))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define BIG_ENDIAN_16(value) __builtin_bswap16(value)

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static __u64 (*const now_ns)(void) = (void *)5;
static long (*const redirect_map)(void *map, __u64 key, __u64 otherwise) = (void *)51;

#define OWNERS_MAX 64
#define QUEUES 64 // of an interface that an owner has sockets for
#define SOURCES 65536 // buckets of sources; a power of two
#define TAGS_MAX 2    // 802.1Q tags that are looked behind
#define CAS_MAX 4     // attempts at a shared bucket, then the frame passes
#define FRAGMENT_OFFSET 0x1fff
#define FRAGMENT 0x3fff // its offset, or more of them
#define PROTOCOL_SCTP 132
#define ICMP_ECHO 8
#define ICMPV6_ECHO_REQUEST 128
#define TAG_QINQ 0x88a8

// What a frame is. UNREADABLE hides its ports: a later fragment, options, extension headers.
enum kind { OTHER, DATAGRAM, SEGMENT, SYN, ECHO, UNREADABLE };
// The shared buckets, in the order of an owner's `SHARED_BUCKETS`.
enum shared { OF_DATAGRAMS, OF_SYNS, OF_STRAY_SYNS, OF_ECHOES, SHARED };
// Indices of an owner's `COUNTS`.
enum count { PASSED, KNOWN, BLACKLISTED, EXCESS, CROWDED, SYNS, ECHOES, COUNTED };
// Indices of `USED`: what somebody had once, and is looked for since.
enum used { ANY_LISTENERS, ANY_ROUTES, USES };
// Kinds of listeners. Values of LISTENERS, ROUTES and WHOLE: the owner, a kind in the low octet.
enum listener { POLICED = 1, TRUSTS = 2 };

struct rate { __u64 interval_ns, span_ns; };
struct rules {
	struct rate source;
	__u64 secret[2];
	__u64 trusted; // number of prefixes
};
struct target { __u8 address[16]; __be16 port; __u8 protocol, zero; __u32 interface; };
struct prefix { __u32 bits, owner; __u8 address[16]; };
struct source { __u64 place; __u32 owner, zero; };
struct bucket { __u64 place, full_ns; };
struct shared_bucket { struct rate rate; __u64 full_ns; };

#define TABLE(name, kind, entries, flags, from, to) \
	struct { __uint(type, kind); __uint(max_entries, entries); __uint(map_flags, flags); \
		__type(key, from); __type(value, to); } name SEC(".maps")
#define ARRAY(name, entries, to) TABLE(name, BPF_MAP_TYPE_ARRAY, entries, 0, __u32, to)
#define HASH(name, entries, from, to) \
	TABLE(name, BPF_MAP_TYPE_HASH, entries, BPF_F_NO_PREALLOC, from, to)

ARRAY(USED, USES, __u32);
TABLE(OWNERS, BPF_MAP_TYPE_XSKMAP, OWNERS_MAX, 0, __u32, __u32);
// The sockets of an owner by queue, OWNERS_MAX times QUEUES.
TABLE(SOCKETS, BPF_MAP_TYPE_XSKMAP, 4096, 0, __u32, __u32);
// Port 0: any.
HASH(ROUTES, 16384, struct target, __u32);
// Owners of all that an interface receives.
HASH(WHOLE, 4096, __u32, __u32);
// Port and protocol 0: the address itself.
HASH(LISTENERS, 65536, struct target, __u32);
ARRAY(RULES, OWNERS_MAX, struct rules);
TABLE(TRUSTED, BPF_MAP_TYPE_LPM_TRIE, 16384, BPF_F_NO_PREALLOC, struct prefix, __u32);
// Until when a source is known, and until when it is blacklisted, nanoseconds since the start.
HASH(KNOWN_SOURCES, 1048576, struct source, __u64);
HASH(BLACKLIST, 65536, struct source, __u64);
ARRAY(BUCKETS, SOURCES, struct bucket);
ARRAY(SHARED_BUCKETS, OWNERS_MAX * SHARED, struct shared_bucket);
TABLE(COUNTS, BPF_MAP_TYPE_PERCPU_ARRAY, OWNERS_MAX * COUNTED, 0, __u32, __u64);

// What is read off a frame. IPv4 addresses are written as IPv6 does (::ffff:a.b.c.d).
struct seen {
	__u8 source[16];
	struct target target;
	__u64 place; // an IPv4 address, or the first half of an IPv6 address
	enum kind kind;
	__u32 is_plain; // a whole packet without tags and options
};

FOLDED void map_address(__u8 *to, const void *ipv4)
{
	__builtin_memset(to, 0, 10);
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, ipv4, 4);
}

// Port and kind by the header behind the addresses.
FOLDED void read_transport(struct seen *seen, void *at, void *end, __u8 protocol)
{
	if (protocol == IPPROTO_UDP || protocol == PROTOCOL_SCTP) {
		__be16 *ports = at;
		if ((void *)(ports + 2) > end)
			return;
		seen->target.port = ports[1];
		if (protocol == IPPROTO_UDP && (void *)(ports + 4) <= end)
			seen->kind = DATAGRAM;
	} else if (protocol == IPPROTO_TCP) {
		struct tcphdr *tcp = at;
		if ((void *)(tcp + 1) > end)
			return;
		seen->target.port = tcp->dest;
		seen->kind = tcp->syn && !tcp->ack ? SYN : SEGMENT;
	} else if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) {
		__u8 *type = at;
		__u8 echo = protocol == IPPROTO_ICMP ? ICMP_ECHO : ICMPV6_ECHO_REQUEST;
		if ((void *)(type + 1) <= end && *type == echo)
			seen->kind = ECHO;
	}
}

FOLDED void read_ipv4(struct seen *seen, void *at, void *end)
{
	struct iphdr *ip = at;
	if ((void *)(ip + 1) > end || ip->ihl < 5)
		return;
	map_address(seen->source, &ip->saddr);
	map_address(seen->target.address, &ip->daddr);
	seen->place = __builtin_bswap32(ip->saddr);
	seen->target.protocol = ip->protocol;
	seen->is_plain = ip->version == 4 && ip->ihl == 5 &&
		!(ip->frag_off & BIG_ENDIAN_16(FRAGMENT));
	// What adds a number that it has read to a place in a packet needs CAP_PERFMON: ports behind
	// options are hidden too.
	if (ip->ihl > 5 || ip->frag_off & BIG_ENDIAN_16(FRAGMENT_OFFSET))
		seen->kind = UNREADABLE;
	else
		read_transport(seen, ip + 1, end, ip->protocol);
}

FOLDED void read_ipv6(struct seen *seen, void *at, void *end)
{
	struct ipv6hdr *ip = at;
	__u64 half;
	if ((void *)(ip + 1) > end)
		return;
	__builtin_memcpy(seen->source, &ip->saddr, 16);
	__builtin_memcpy(seen->target.address, &ip->daddr, 16);
	__builtin_memcpy(&half, &ip->saddr, 8);
	seen->place = __builtin_bswap64(half);
	seen->target.protocol = ip->nexthdr;
	seen->is_plain = ip->version == 6;
	switch (ip->nexthdr) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_DSTOPTS:
		seen->kind = UNREADABLE;
		break;
	default:
		read_transport(seen, ip + 1, end, ip->nexthdr);
	}
}

FOLDED void read_frame(struct seen *seen, void *at, void *end)
{
	struct ethhdr *ethernet = at;
	__be16 *type = at + 12;
	__u32 is_tagged = 0;
	if ((void *)(ethernet + 1) > end)
		return;
	at = ethernet + 1;
#pragma unroll
	for (int tag = 0; tag < TAGS_MAX; tag++) {
		if (*type != BIG_ENDIAN_16(ETH_P_8021Q) && *type != BIG_ENDIAN_16(TAG_QINQ))
			break;
		if (at + 4 > end)
			return;
		type = at + 2;
		at += 4;
		is_tagged = 1;
	}
	if (*type == BIG_ENDIAN_16(ETH_P_IP))
		read_ipv4(seen, at, end);
	else if (*type == BIG_ENDIAN_16(ETH_P_IPV6))
		read_ipv6(seen, at, end);
	seen->is_plain &= !is_tagged;
}

// Whether a frame that was judged goes on.
FOLDED int verdict(__u32 owner, enum count reason)
{
	__u32 index = owner * COUNTED + reason;
	__u64 *count = map_lookup(&COUNTS, &index);
	if (count)
		*count += 1;
	return reason == PASSED || reason == KNOWN;
}

// Takes one out of a source's bucket. Races between cores cost or give a frame, no more.
FOLDED int take_own(const struct rules *rules, __u64 place, __u64 now)
{
	__u32 index = ((place ^ rules->secret[0]) * (rules->secret[1] | 1)) >> 48 & (SOURCES - 1);
	struct bucket *bucket = map_lookup(&BUCKETS, &index);
	if (!bucket)
		return 1;
	__u64 full = bucket->place == place && bucket->full_ns > now ? bucket->full_ns : now;
	if (full - now > rules->source.span_ns)
		return 0;
	bucket->place = place;
	bucket->full_ns = full + rules->source.interval_ns;
	return 1;
}

// Takes one out of a bucket that all sources of an owner share.
FOLDED int take_shared(__u32 which, __u64 now)
{
	struct shared_bucket *bucket = map_lookup(&SHARED_BUCKETS, &which);
	if (!bucket)
		return 1;
#pragma unroll
	for (int attempt = 0; attempt < CAS_MAX; attempt++) {
		__u64 was = *(volatile __u64 *)&bucket->full_ns;
		__u64 next;
		__u64 full = was > now ? was : now;
		if (full - now > bucket->rate.span_ns)
			return 0;
		next = full + bucket->rate.interval_ns;
		if (__sync_val_compare_and_swap(&bucket->full_ns, was, next) == was)
			return 1;
	}
	return 1;
}

FOLDED int until(void *map, const struct source *source, __u64 now)
{
	__u64 *end = map_lookup(map, source);
	return end && *end > now;
}

FOLDED int is_used(__u32 what)
{
	__u32 *used = map_lookup(&USED, &what);
	return used && *used;
}

// The listener that a frame goes to: its own, or the address itself where a port means nothing.
FOLDED __u32 *listener_of(const struct seen *seen, enum shared *shared)
{
	struct target target = seen->target;
	*shared = OF_DATAGRAMS;
	if (seen->kind == DATAGRAM || seen->kind == SEGMENT || seen->kind == SYN) {
		__u32 *listener = map_lookup(&LISTENERS, &target);
		if (seen->kind == SYN)
			*shared = OF_SYNS;
		if (listener || seen->kind != SYN)
			return listener;
		*shared = OF_STRAY_SYNS;
	} else if (seen->kind == ECHO) {
		*shared = OF_ECHOES;
	}
	target.port = 0;
	target.protocol = 0;
	return map_lookup(&LISTENERS, &target);
}

// Whether the fence lets a frame go on.
FOLDED int may_pass(const struct seen *seen)
{
	enum shared shared;
	__u32 *listener = listener_of(seen, &shared);
	if (!listener || (*listener & 0xff) != POLICED)
		return 1;
	struct source source = { .place = seen->place, .owner = *listener >> 8 & (OWNERS_MAX - 1) };
	__u32 owner = source.owner;
	struct rules *rules = map_lookup(&RULES, &owner);
	if (!rules || !map_lookup(&OWNERS, &owner))
		return 1;
	struct prefix prefix = { .bits = 160, .owner = owner };
	__builtin_memcpy(prefix.address, seen->source, 16);
	__u64 now = now_ns();
	if (until(&KNOWN_SOURCES, &source, now))
		return verdict(owner, KNOWN);
	if (rules->trusted && map_lookup(&TRUSTED, &prefix))
		return verdict(owner, KNOWN);
	if (until(&BLACKLIST, &source, now))
		return verdict(owner, BLACKLISTED);
	if (seen->kind == SEGMENT)
		return 1;
	if (!take_own(rules, seen->place, now))
		return verdict(owner, EXCESS);
	if (take_shared(owner * SHARED + shared, now))
		return verdict(owner, PASSED);
	return verdict(owner, seen->kind == ECHO ? ECHOES : seen->kind == SYN ? SYNS : CROWDED);
}

// Whether a target has a route whose owner is there.
FOLDED int has_route(const struct target *target, __u32 *owner)
{
	__u32 *route = map_lookup(&ROUTES, target);
	if (!route)
		return 0;
	*owner = *route >> 8;
	return map_lookup(&OWNERS, owner) != 0;
}

SEC("xdp") int interface(struct xdp_md *frame)
{
	struct seen seen = {};
	__u32 number = frame->ingress_ifindex, queue = frame->rx_queue_index;
	__u32 owner = 0;
	int any_listeners = is_used(ANY_LISTENERS), any_routes = is_used(ANY_ROUTES);
	if (any_listeners || any_routes) {
		read_frame(&seen, (void *)(long)frame->data, (void *)(long)frame->data_end);
		seen.target.interface = number;
	}
	if (any_listeners && seen.kind != OTHER && !may_pass(&seen))
		return XDP_DROP;
	if (queue >= QUEUES)
		return XDP_PASS;
	int is_routed = any_routes && seen.is_plain && has_route(&seen.target, &owner);
	if (any_routes && seen.is_plain && !is_routed) {
		seen.target.port = 0;
		is_routed = has_route(&seen.target, &owner);
	}
	if (!is_routed) {
		__u32 *whole = map_lookup(&WHOLE, &number);
		if (!whole)
			return XDP_PASS;
		owner = *whole >> 8;
	}
	return redirect_map(&SOCKETS, owner * QUEUES + queue, XDP_PASS);
}

char LICENSE[] SEC("license") = "Apache-2.0";
