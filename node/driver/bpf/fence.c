// SPDX-License-Identifier: Apache-2.0
// The fence: which frames towards our doors go on into the kernel (XDP).
//
//   not towards a door of ours, or a door that trusts everybody ──→ pass
//   trusted prefix, known source ────────────────────────────────→ pass
//   blacklisted ─────────────────────────────────────────────────→ drop
//   a segment of a connection that is no SYN ────────────────────→ pass
//   datagram, SYN, echo request ─→ own bucket ─→ bucket of its kind ─→ pass
//                                       └─ empty: drop ────┘
//
// Everything that it goes by is written by node/driver/src/fence.rs; names and layouts of the maps
// are those that it expects. A bucket is one number, the time at which it will be full again
// (GCRA, ITU-T I.371 annex A).
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

#define SOURCES 65536 // buckets of sources; a power of two
#define TAGS_MAX 2    // 802.1Q tags that are looked behind
#define CAS_MAX 4     // attempts at a shared bucket, then the frame passes
#define FRAGMENT_OFFSET 0x1fff
#define ICMP_ECHO 8
#define ICMPV6_ECHO_REQUEST 128
#define TAG_QINQ 0x88a8

// What a frame is. UNREADABLE hides its ports: a later fragment, extension headers.
enum kind { OTHER, DATAGRAM, SEGMENT, SYN, ECHO, UNREADABLE };
// The shared buckets, in the order of `rules.shared`.
enum shared { OF_DATAGRAMS, OF_SYNS, OF_STRAY_SYNS, OF_ECHOES, SHARED };
// Indices of `COUNTS`.
enum count { PASSED, KNOWN, BLACKLISTED, EXCESS, CROWDED, SYNS, ECHOES, COUNTED };

struct rate { __u64 interval_ns, span_ns; };
struct rules {
	struct rate source;
	struct rate shared[SHARED];
	__u64 secret[2];
	__u64 trusted; // number of prefixes
};
struct door { __u8 address[16]; __be16 port; __u8 protocol, zero; };
struct prefix { __u32 bits; __u8 address[16]; };
struct bucket { __u64 place, full_ns; };

struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1);
	__type(key, __u32); __type(value, struct rules); } RULES SEC(".maps");
// 1: policed, 2: trusts everybody. Port and protocol 0: the address itself.
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct door); __type(value, __u32); } DOORS SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_LPM_TRIE); __uint(max_entries, 256);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix); __type(value, __u32); } TRUSTED SEC(".maps");
// Until when a source is known, and until when it is blacklisted, nanoseconds since the start.
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1048576);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64); __type(value, __u64); } KNOWN_SOURCES SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64); __type(value, __u64); } BLACKLIST SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, SOURCES);
	__type(key, __u32); __type(value, struct bucket); } BUCKETS SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, SHARED);
	__type(key, __u32); __type(value, __u64); } SHARED_BUCKETS SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, COUNTED);
	__type(key, __u32); __type(value, __u64); } COUNTS SEC(".maps");

// What is read off a frame. IPv4 addresses are written as IPv6 does (::ffff:a.b.c.d).
struct seen {
	__u8 source[16];
	struct door target;
	__u64 place; // an IPv4 address, or the first half of an IPv6 address
	enum kind kind;
};

FOLDED void map_address(__u8 *to, const void *ipv4)
{
	__builtin_memset(to, 0, 10);
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, ipv4, 4);
}

// Ports and kind by the header behind the addresses.
FOLDED void read_transport(struct seen *seen, void *at, void *end, __u8 protocol)
{
	if (protocol == IPPROTO_UDP) {
		struct udphdr *udp = at;
		if ((void *)(udp + 1) > end)
			return;
		seen->target.port = udp->dest;
		seen->target.protocol = protocol;
		seen->kind = DATAGRAM;
	} else if (protocol == IPPROTO_TCP) {
		struct tcphdr *tcp = at;
		if ((void *)(tcp + 1) > end)
			return;
		seen->target.port = tcp->dest;
		seen->target.protocol = protocol;
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
	if (ip->frag_off & BIG_ENDIAN_16(FRAGMENT_OFFSET))
		seen->kind = UNREADABLE;
	else
		read_transport(seen, at + ip->ihl * 4, end, ip->protocol);
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
	}
	if (*type == BIG_ENDIAN_16(ETH_P_IP))
		read_ipv4(seen, at, end);
	else if (*type == BIG_ENDIAN_16(ETH_P_IPV6))
		read_ipv6(seen, at, end);
}

FOLDED int verdict(enum count reason)
{
	__u32 index = reason;
	__u64 *count = map_lookup(&COUNTS, &index);
	if (count)
		*count += 1;
	return reason == PASSED || reason == KNOWN ? XDP_PASS : XDP_DROP;
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

// Takes one out of a bucket that all share.
FOLDED int take_shared(const struct rate *rate, __u32 which, __u64 now)
{
	__u64 *bucket = map_lookup(&SHARED_BUCKETS, &which);
	if (!bucket)
		return 1;
#pragma unroll
	for (int attempt = 0; attempt < CAS_MAX; attempt++) {
		__u64 was = *(volatile __u64 *)bucket;
		__u64 full = was > now ? was : now;
		if (full - now > rate->span_ns)
			return 0;
		if (__sync_val_compare_and_swap(bucket, was, full + rate->interval_ns) == was)
			return 1;
	}
	return 1;
}

FOLDED int until(void *map, const __u64 *place, __u64 now)
{
	__u64 *end = map_lookup(map, place);
	return end && *end > now;
}

// The door that a frame goes to: its own, or the address itself where a port means nothing.
FOLDED __u32 *door_of(struct seen *seen, enum shared *shared)
{
	__u32 *door = 0;
	*shared = OF_DATAGRAMS;
	if (seen->kind == DATAGRAM || seen->kind == SEGMENT || seen->kind == SYN) {
		door = map_lookup(&DOORS, &seen->target);
		if (seen->kind == SYN)
			*shared = OF_SYNS;
		if (door || seen->kind != SYN)
			return door;
		*shared = OF_STRAY_SYNS;
		seen->target.port = 0;
		seen->target.protocol = 0;
	} else if (seen->kind == ECHO) {
		*shared = OF_ECHOES;
	}
	return map_lookup(&DOORS, &seen->target);
}

SEC("xdp") int fence(struct xdp_md *frame)
{
	struct seen seen = {};
	enum shared shared;
	__u32 zero = 0;
	read_frame(&seen, (void *)(long)frame->data, (void *)(long)frame->data_end);
	if (seen.kind == OTHER)
		return XDP_PASS;
	__u32 *door = door_of(&seen, &shared);
	if (!door || *door != 1)
		return XDP_PASS;
	struct rules *rules = map_lookup(&RULES, &zero);
	if (!rules)
		return XDP_PASS;
	struct prefix source = { .bits = 128 };
	__builtin_memcpy(source.address, seen.source, 16);
	__u64 now = now_ns();
	if (until(&KNOWN_SOURCES, &seen.place, now))
		return verdict(KNOWN);
	if (rules->trusted && map_lookup(&TRUSTED, &source))
		return verdict(KNOWN);
	if (until(&BLACKLIST, &seen.place, now))
		return verdict(BLACKLISTED);
	if (seen.kind == SEGMENT)
		return XDP_PASS;
	if (!take_own(rules, seen.place, now))
		return verdict(EXCESS);
	if (take_shared(&rules->shared[shared & 3], shared, now))
		return verdict(PASSED);
	return verdict(seen.kind == ECHO ? ECHOES : seen.kind == SYN ? SYNS : CROWDED);
}

char LICENSE[] SEC("license") = "Apache-2.0";
