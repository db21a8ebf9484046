// Made-up functions of every kind, with answers that fit together: a route reflector, a provider
// edge, a signalling gateway, beside the session controller and the SAS of the mock itself; the
// short message gateway stands in messages.mjs.
import * as messages from './messages.mjs';
import * as network from './network.mjs';

const PORTS = {
  ssc: [
    { name: 'access', transport: 'udp', address: '203.0.113.5:5060' },
    { name: 'access', transport: 'tcp', address: '203.0.113.5:5060' },
    { name: 'access', transport: 'tls', address: '203.0.113.5:5061' },
    { name: 'core', transport: 'udp', address: '10.20.0.5:5060' },
  ],
  sas: [
    { name: 'hep', transport: 'udp', address: '127.0.0.1:9060' },
    { name: 'hep', transport: 'tcp', address: '127.0.0.1:9060' },
  ],
  rr: [
    { name: 'bgp', transport: 'tcp', address: '10.0.0.1:179' },
    { name: 'bgp', transport: 'tcp', address: '[2001:db8::1]:179' },
  ],
  pe: [],
  msc: [
    { name: 'control', transport: 'tcp', address: '127.0.0.1:2970' },
    { name: 'ng', transport: 'udp', address: '127.0.0.1:2223' },
  ],
  sgc: [{ name: 'm3ua', transport: 'sctp', address: '10.30.0.1:2905' }],
  ipsmgw: messages.PORTS,
};

export function functionRow(kind, uptime_s) {
  return {
    name: `${kind}1`,
    kind,
    state: 'running',
    shards: kind === 'ssc' ? 2 : 1,
    uptime_s,
    ports: PORTS[kind],
  };
}

/** Metrics of the kinds: name, type, help, value, how far it swings. */
export const FACTS = {
  ipsmgw: messages.FACTS,
  msc: [
    ['msc_streams', 'gauge', 'Streams that stand', 8_240, 320],
    ['msc_packets_total', 'counter', 'Packets of RTP that came and went on', 824_000, 31_000],
    [
      'msc_packets_dropped_total',
      'counter',
      'Packets that came to a stream and were dropped',
      31,
      18,
    ],
    [
      'msc_packets_unprotected_total',
      'counter',
      'Packets that did not hold what protects them, or came twice',
      0,
      1,
    ],
    ['msc_one_way_total', 'counter', 'Times that packets came from one end only', 0, 1],
    [
      'msc_poor_quality_total',
      'counter',
      'Reports of quality with a mean opinion score below 3.5',
      3,
      3,
    ],
  ],
  rr: [
    ['rr_peers_established', 'gauge', 'Peers whose session stands', 38, 0],
    ['rr_routes', 'gauge', 'Routes of all families, however many paths they have', 962_400, 40],
    ['rr_paths', 'gauge', 'Paths of all routes', 1_934_100, 90],
    ['rr_updates_received_total', 'counter', 'UPDATEs that came', 312, 160],
    ['rr_updates_sent_total', 'counter', 'UPDATEs that were given to the transport', 5_140, 2_300],
    ['rr_routes_withdrawn_total', 'counter', 'Routes that peers withdrew', 41, 30],
    ['rr_bmp_sessions_total', 'counter', 'Connections with monitoring stations that stood', 0, 0],
    ['rr_rpki_records', 'gauge', 'Validated prefixes of both families', 611_204, 3],
  ],
  pe: [
    ['pe_ports_up', 'gauge', 'Ports whose link is there', 3, 0],
    ['pe_ports_down', 'gauge', 'Ports whose link is not there', 1, 0],
    ['pe_routes', 'gauge', 'Static routes, those of files included', 1_204, 0],
    ['pe_macs_moved_total', 'counter', 'MAC addresses that moved', 1, 1],
    ['pe_programs_total', 'counter', 'Changes that the forwarder was told', 4, 4],
    ['igp_adjacencies', 'gauge', 'Neighbours with whom databases are alike', 6, 0],
    ['igp_neighbours', 'gauge', 'Neighbours that are heard', 7, 0],
    ['ldp_sessions', 'gauge', 'Sessions that stand', 2, 0],
    ['pe_bgp_peers_established', 'gauge', 'Peers whose session stands', 3, 0],
    ['pe_bgp_peers_down', 'gauge', 'Peers whose session should stand and does not', 1, 0],
  ],
  sgc: [
    ['sgc_msus_received_total', 'counter', 'MSUs that came from peers', 1_870, 320],
    ['sgc_msus_relayed_total', 'counter', 'MSUs passed on towards their destination', 1_862, 318],
    ['sgc_peers_associated', 'gauge', 'Peers whose association stands', 3, 0],
    ['sgc_as_active', 'gauge', 'Application Servers that are AS-ACTIVE', 2, 0],
    ['sgc_msus_waiting', 'gauge', 'MSUs that wait for an ASP', 0, 0],
    ['tcap_dialogues', 'gauge', 'Dialogues that stand', 18_420, 900],
    [
      'sgc_msus_no_route_total',
      'counter',
      'MSUs discarded because nothing serves or leads to their destination',
      2,
      2,
    ],
  ],
};

const FAMILIES = ['ipv4-unicast', 'ipv6-unicast', 'vpnv4'];

export function bgpPeers(start_us) {
  return Array.from({ length: 40 }, (_, n) => {
    const isAway = n === 30;
    const isDown = n === 7 || n === 23 || isAway;
    const isClient = n < 36;
    return {
      peer: isClient ? `pe${n + 1}` : n < 38 ? `rr${n - 34}` : `transit${n - 37}`,
      address: isClient ? `10.1.0.${n + 1}` : `10.0.0.${n}`,
      asn: n < 38 ? 65000 : 64496 + n,
      identifier: `10.1.0.${n + 1}`,
      kind: isClient ? 'client' : n < 38 ? 'non-client' : 'external',
      group: isClient ? 'clients' : null,
      dynamic: isClient,
      description: n === 7 ? 'Edge Hamburg 2' : null,
      state: isAway ? 'away' : isDown ? (n === 7 ? 'Active' : 'Idle') : 'Established',
      since_us: start_us - (isDown ? 340 : 90_000 + n * 3_600) * 1e6,
      families: isDown ? [] : FAMILIES,
      routes_in: isDown ? 0 : 24_000 + n * 311,
      routes_accepted: isDown ? 0 : 23_800 + n * 311,
      routes_out: isDown ? 0 : 940_000 + n,
      messages_in: 120_000 + n,
      messages_out: 912_000 + n,
      waiting_octets: n === 12 ? 184_320 : 0,
      flaps: isDown ? 4 : 0,
      why: isDown
        ? n === 7
          ? 'received Hold Timer Expired'
          : 'sent Cease, Maximum Number of Prefixes Reached'
        : null,
    };
  });
}

/** Peers of the edge: two reflectors, a customer, and a transit that does not answer. */
function edgePeers(start_us) {
  const from = bgpPeers(start_us);
  const [up, down] = [from[38], from[7]];
  return [
    { ...up, peer: 'rr-north', address: '10.0.0.1', asn: 65000, kind: 'non-client' },
    { ...up, peer: 'rr-south', address: '10.0.0.2', asn: 65000, kind: 'non-client' },
    { ...up, peer: 'customer7', address: '198.51.100.7', asn: 64507, routes_accepted: 12 },
    {
      ...{ ...down, peer: 'transit9', address: '198.51.100.9', asn: 64509, kind: 'external' },
      ...{ group: null, dynamic: false, description: null, state: 'Connect' },
    },
  ];
}

const ldpNeighbours = () =>
  ['192.0.2.2:0', '192.0.2.6:0'].map((peer, n) => ({
    peer,
    transport: peer.split(':')[0],
    interfaces: [`core-${['ham', 'fra'][n]}`],
    state: 'Operational',
    state_s: 86_000,
    bindings: 310 + n,
    waiting: 0,
  }));

function offer(peer) {
  return {
    asn: peer.asn,
    identifier: peer.identifier,
    hold_time_s: 90,
    families: FAMILIES,
    four_octet_as: true,
    route_refresh: true,
    enhanced_refresh: true,
    extended_message: true,
    add_path_send: ['ipv4-unicast'],
    add_path_receive: [],
    role: null,
    graceful_restart: { time_s: 120, families: FAMILIES },
  };
}

export function bgpPeer(start_us, name, peers = bgpPeers(start_us)) {
  const row = peers.find((peer) => peer.peer === name);
  if (!row) return null;
  if (row.state === 'away') return [row];
  const isUp = row.state === 'Established';
  const messages = {
    open: 5,
    update: 118_200,
    notification: 4,
    keepalive: 1_790,
    route_refresh: 1,
  };
  return [
    {
      ...row,
      offered_here: { ...offer(row), asn: 65000, identifier: '10.0.0.1' },
      offered_there: isUp ? { ...offer(row), extended_message: false } : null,
      agreed: isUp ? { families: FAMILIES, hold_time_s: 90, keepalive_s: 30 } : null,
      connections: [],
      last_error: row.why ? { at_us: start_us - 340e6, text: row.why } : null,
      last_offence: null,
      limits: [
        { family: 'ipv4-unicast', routes: row.routes_accepted, warn: 800_000, max: 1_000_000 },
      ],
      import: ['clients-in'],
      export: ['clients-out'],
      password: true,
      ttl_security_hops: 1,
      received: messages,
      sent: { ...messages, update: 909_000 },
      established: 5,
      hold_expired: 1,
      offences_tolerated: 0,
      routes_withdrawn: 1_204,
      routes_treated_as_withdrawn: 0,
      routes_looped: 3,
      routes_refused: 200,
    },
  ];
}

export const bgpFamilies = () => [
  { family: 'ipv4-unicast', routes: 3_000, paths: 7_400 },
  { family: 'ipv6-unicast', routes: 260, paths: 520 },
  { family: 'vpnv4', routes: 120, paths: 240 },
];

function ipv4(n) {
  const length = n % 7 === 0 ? 16 : 24;
  const [a, b, c] = [10 + Math.floor(n / 1_000) * 90, Math.floor(n / 40) % 256, n % 40];
  return length === 16 ? `${a}.${b}.0.0/16` : `${a}.${b}.${c}.0/24`;
}

function routeOf(family, n) {
  if (family === 'ipv6-unicast') return `2001:db8:${n.toString(16)}::/48`;
  if (family === 'vpnv4') return `65000:${100 + (n % 4)} 10.${n}.0.0/16`;
  return ipv4(n);
}

const all = new Map();
function routesOf(family) {
  if (!all.has(family)) {
    const count = bgpFamilies().find((row) => row.family === family)?.routes ?? 0;
    const texts = [...new Set(Array.from({ length: count }, (_, n) => routeOf(family, n)))];
    all.set(family, texts);
  }
  return all.get(family);
}

function bits(text) {
  const [address, length] = text.split('/');
  const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return { number, length: Number(length ?? 32) };
}

function covers(outer, inner) {
  const [a, b] = [bits(outer), bits(inner)];
  const shift = 2 ** (32 - a.length);
  return a.length <= b.length && Math.floor(a.number / shift) === Math.floor(b.number / shift);
}

function path(family, route, n, at) {
  const isBest = at === 0;
  return {
    route,
    family,
    peer: `pe${((n + at) % 36) + 1}`,
    path_id: 0,
    best: isBest,
    refused: at === 3,
    changed: at === 1,
    loses_by: isBest
      ? null
      : ['AS_PATH length', 'LOCAL_PREF', 'the import policy refuses it'][at - 1],
    stale: false,
    next_hop: `10.1.0.${((n + at) % 36) + 1}`,
    local_pref: at === 2 ? 90 : 100,
    med: n % 3 ? null : 20,
    as_path: `64500 ${64510 + (n % 40)}${at === 1 ? ' 64777' : ''}`,
    origin: n % 9 ? 'igp' : 'incomplete',
    originator: `10.1.0.${((n + at) % 36) + 1}`,
    clusters: ['10.0.0.2'],
    communities: ['65000:100', '65000:3000', '64500:1:20'],
    aigp: null,
    attributes: ['ORIGIN', 'AS_PATH', 'NEXT_HOP', 'LOCAL_PREF', 'COMMUNITIES', 'ORIGINATOR_ID'],
    validation: n % 5 === 0 ? 'invalid' : 'valid',
    payload: '',
  };
}

export function bgpRoutes(query) {
  const family = query.get('family') ?? 'ipv4-unicast';
  const [within, text] = [query.get('within'), query.get('text')];
  const [skip, limit] = [Number(query.get('skip') ?? 0), Number(query.get('limit') ?? 100)];
  const wanted = routesOf(family).filter(
    (route) => (!within || covers(within, route)) && (!text || route.includes(text)),
  );
  const rows = wanted.slice(skip, skip + limit).map((route, n) => ({
    ...path(family, route, skip + n, 0),
    paths: ((skip + n) % 4) + 1,
  }));
  return { rows, next: skip + limit < wanted.length ? skip + limit : null };
}

export function bgpRoute(query) {
  const [family, asked] = [query.get('family') ?? 'ipv4-unicast', query.get('prefix')];
  const found = routesOf(family)
    .filter((route) => (family === 'ipv4-unicast' ? covers(route, asked) : route.includes(asked)))
    .sort((a, b) => bits(b).length - bits(a).length)[0];
  return found ? [0, 1, 2, 3].map((at) => path(family, found, 4, at)) : [];
}

// The edge.

export const peSummary = (mock) => [
  {
    forwarder: mock.isForwarderAway ? 'away' : 'controlled',
    ports: 4,
    ports_up: 3,
    interfaces: 240,
    vrfs: 3,
    cross_connects: 2,
    bridges: 2,
    routes: 1_204,
    refusals: 0,
  },
];

function page(rows, query) {
  const [skip, limit] = [Number(query.get('skip') ?? 0), Number(query.get('limit') ?? 100)];
  const next = limit > 0 && skip + limit < rows.length ? skip + limit : null;
  return { rows: rows.slice(skip, skip + limit), next, total: rows.length };
}

/** Packets since the mock began, at so many a second. */
function since(mock, rate) {
  return Math.round(((Date.now() * 1000 - mock.start_us) / 1e6 + 9_300) * rate);
}

export const planePorts = (mock) =>
  ['core', 'ge0', 'ge1', 'ge2'].map((port, n) => ({
    port,
    number: n,
    driver: n === 0 ? 'af_packet' : 'af_xdp',
    workers: 2,
    up: n !== 3,
    mac: `02:00:00:00:00:0${n + 1}`,
    mtu: n === 0 ? 1600 : 1500,
    received: n === 3 ? 0 : since(mock, 182_400 / (n + 1)),
    received_octets: n === 3 ? 0 : since(mock, 91_200_000 / (n + 1)),
    sent: n === 3 ? 0 : since(mock, 179_300 / (n + 1)),
    sent_octets: n === 3 ? 0 : since(mock, 90_100_000 / (n + 1)),
    'not_received_queue-full': n === 1 ? 4_120 : 0,
    'not_received_too-long': 0,
    'not_sent_queue-full': n === 0 ? 311 : 0,
    'not_sent_no-link': n === 3 ? 88 : 0,
  }));

const interfaces = [
  {
    name: 'core',
    port: 'core',
    vlan: null,
    inner_vlan: null,
    kind: 'routed',
    vrf: 'global',
    bridge: null,
    cross_connect: null,
    addresses: ['192.0.2.1/24', '2001:db8:0:1::1/64'],
    mpls: true,
    filter_in: ['core-in'],
    filter_out: [],
  },
  {
    name: 'irb',
    port: null,
    vlan: null,
    inner_vlan: null,
    kind: 'routed-side',
    vrf: 'red',
    bridge: 'lan',
    cross_connect: null,
    addresses: ['10.5.0.254/24'],
    mpls: false,
    filter_in: [],
    filter_out: [],
  },
  ...Array.from({ length: 238 }, (_, n) => ({
    name: `ge${n % 3}.${n + 2}`,
    port: `ge${n % 3}`,
    vlan: n + 2,
    inner_vlan: n % 20 === 0 ? 7 : null,
    kind: n % 50 === 3 ? 'cross-connect' : n % 10 === 4 ? 'bridge' : 'routed',
    vrf: n % 50 === 3 || n % 10 === 4 ? null : ['red', 'blue'][n % 2],
    bridge: n % 10 === 4 ? 'lan' : null,
    cross_connect: n % 50 === 3 ? 'wire' : null,
    addresses: n % 50 === 3 || n % 10 === 4 ? [] : [`10.${n}.0.1/24`],
    mpls: false,
    filter_in: n % 4 === 0 ? ['customers'] : [],
    filter_out: [],
  })),
];

export const peInterfaces = (mock, query) => page(interfaces, query);
export const planeInterfaces = (mock) =>
  interfaces.slice(0, 120).map(({ name }, n) => ({
    interface: name,
    received: since(mock, 180_000 / (n + 1)),
    received_octets: since(mock, 90_000_000 / (n + 1)),
    sent: since(mock, 178_000 / (n + 1)),
    sent_octets: since(mock, 89_000_000 / (n + 1)),
  }));

export const planeNeighbours = () =>
  Array.from({ length: 130 }, (_, n) => ({
    interface: interfaces[n].name,
    address: n % 6 === 5 ? `2001:db8:${n}::2` : `10.${n}.0.2`,
    mac: n % 17 === 16 ? null : `02:00:00:00:01:${(n % 256).toString(16).padStart(2, '0')}`,
    state: n % 17 === 16 ? 'incomplete' : ['reachable', 'reachable', 'stale', 'static'][n % 4],
  }));

export const peVrfs = (mock, query) =>
  page(
    [
      { vrf: 'global', label: null, interfaces: ['core'], routes: 42 },
      { vrf: 'red', label: 100, interfaces: ['irb', 'ge0.2', 'ge2.4'], routes: 1_020 },
      { vrf: 'blue', label: 101, interfaces: ['ge1.3', 'ge0.5'], routes: 142 },
      { vrf: 'management', label: null, interfaces: [], routes: 0 },
    ],
    query,
  );

const COUNTS = { global: 42, red: 1_020, blue: 142, management: 0 };
export function peRoutes(mock, query) {
  const vrf = query.get('vrf') ?? 'global';
  const rows = Array.from({ length: COUNTS[vrf] ?? 0 }, (_, n) => {
    const prefix = `10.${Math.floor(n / 20)}.${(n % 20) * 4}.0/${n % 5 ? 24 : 22}`;
    if (n < 3) {
      const via = [{ interface: n ? `ge0.${n + 1}` : 'core' }];
      return { vrf, prefix: `192.0.${n + 2}.0/24`, origin: 'connected', via };
    }
    if (n === 5) return { vrf, prefix, origin: 'static', via: [], discard: 'blackhole' };
    const gateway = `192.0.2.${(n % 200) + 2}`;
    if (n > 60) return { vrf, prefix, origin: 'file', via: [{ gateway }] };
    const via = [{ gateway, interface: 'core', labels: [200 + n], weight: 1 }];
    if (n % 4 === 0) via.push({ gateway: '192.0.2.9', interface: null, labels: [16], weight: 2 });
    return { vrf, prefix, origin: 'static', via, backup: n % 7 ? null : via[0], discard: null };
  });
  const [within, covering] = [query.get('within'), query.get('covering')];
  const wanted = rows.filter(
    (row) => (!within || covers(within, row.prefix)) && (!covering || covers(row.prefix, covering)),
  );
  const { total: _total, ...answer } = page(wanted, query);
  return answer;
}

const wire = {
  label_in: 300,
  via: { gateway: '192.0.2.2', interface: 'core', labels: [400], weight: 1 },
  backup: { gateway: '192.0.2.3', interface: null, labels: [16, 400], weight: 1 },
  control_word: true,
  flow_label: true,
};

export const peBridges = (mock, query) =>
  page(
    ['lan', 'guests'].map((bridge, n) => ({
      bridge,
      interfaces: n ? ['ge1.90', 'ge2.91'] : ['ge1.6', 'ge2.16', 'ge0.26'],
      pseudowires: n ? [] : [wire, { ...wire, label_in: 301, backup: null }],
      routed_side: n ? null : 'irb',
      macs_max: 65_536,
      ageing_s: 300,
      learn: true,
      flood_unknown: true,
      storm_pps: 0,
      moves_max: 5,
    })),
    query,
  );

export function planeMacs(mock, query) {
  const bridge = query.get('bridge') ?? 'lan';
  const rows = Array.from({ length: bridge === 'lan' ? 340 : 0 }, (_, n) => ({
    bridge,
    mac: `02:00:5e:00:${(n >> 8).toString(16).padStart(2, '0')}:${(n % 256)
      .toString(16)
      .padStart(2, '0')}`,
    state: n === 0 ? 'static' : n === 3 ? 'frozen' : 'learnt',
    ...(n % 3 === 2 ? { pseudowire: 'lan 300' } : { interface: n % 2 ? 'ge1.6' : 'ge2.16' }),
    ...(n === 0 ? {} : { idle_s: (n * 7) % 300 }),
  }));
  return page(rows, query);
}

export const peEvents = () => [
  {
    seconds_ago: 41,
    bridge: 'lan',
    mac: '02:00:5e:00:00:03',
    event: 'frozen',
    from: null,
    at: 'ge1.6',
  },
  {
    seconds_ago: 44,
    bridge: 'lan',
    mac: '02:00:5e:00:00:03',
    event: 'moved',
    from: 'ge2.16',
    at: 'ge1.6',
  },
];

export const peCrossConnects = (mock, query) =>
  page(
    [
      { name: 'wire', interface: 'ge0.5', to: null, pseudowire: wire },
      { name: 'local', interface: 'ge1.53', to: 'ge2.103', pseudowire: null },
    ],
    query,
  );

const rules = [
  { action: 'deny', source: '10.66.0.0/16' },
  { action: 'permit', protocol: 'tcp', destination_ports: ['80', '443'], tcp_flags: 'S!A' },
  { action: 'police gold', protocol: 'icmp' },
  { action: 'class 5', protocol: 'udp', source_ports: ['16384-32767'], dscp: 46 },
  { action: 'permit', destination: '10.0.0.0/8' },
];

export const peFilters = (mock, query) =>
  page(
    [
      {
        filter: 'customers',
        family: 'ipv4',
        rules,
        rules_total: rules.length,
        filters_in: ['ge0.2', 'ge1.6', 'ge2.10'],
        filters_out: [],
      },
      {
        filter: 'core-in',
        family: 'ipv6',
        rules: [{ action: 'permit' }],
        rules_total: 1,
        filters_in: ['core'],
        filters_out: [],
      },
      {
        filter: 'frames',
        family: 'ethernet',
        rules: [{ action: 'deny', source_mac: '02:00:5e:00:00:00/24', ethertypes: ['arp'] }],
        rules_total: 1,
        filters_in: [],
        filters_out: [],
      },
    ],
    query,
  );

export function planeHits(mock, query) {
  const filter = query.get('filter') ?? 'customers';
  const many = filter === 'customers' ? [12, 9_400, 3, 2_200, 41_000] : [18_000];
  const rows = [...many, 7].map((rate, n) => ({
    filter,
    rule: n < many.length ? n : null,
    packets: since(mock, rate),
    octets: since(mock, rate * 420),
  }));
  return page(rows, query);
}

const GRAPH = [
  ['ethernet-input', 360_000, {}],
  ['mpls-input', 140_000, { 'time to live expired': 14, 'unknown label': 0.4 }],
  ['ip4-input', 210_000, { 'time to live expired': 2.5, 'bad checksum': 0 }],
  ['ip4-filter', 61_000, { 'denied by a rule': 12, 'no rule permits it': 7 }],
  ['ip4-lookup', 209_000, { 'no route': 31 }],
  ['ip4-urpf', 0, {}],
  ['bridge-input', 22_000, { 'split horizon': 3.1 }],
  ['mpls-push', 88_000, {}],
  ['interface-output', 358_000, {}],
];

export const planeGraph = (mock) =>
  GRAPH.map(([node, rate, dropped], n) => ({
    node,
    packets: since(mock, rate),
    vectors: since(mock, rate / 24),
    packets_a_vector: rate ? 24 : 0,
    clocks_a_packet: rate ? 22 + n * 3 : 0,
    dropped: Object.fromEntries(
      Object.entries(dropped)
        .map(([reason, rate]) => [reason, since(mock, rate)])
        .filter(([, count]) => count > 0),
    ),
    next: [],
  }));

const WAYS = [
  [
    ['ethernet-input', 'port ge0, 98 octets, 02:00:00:00:01:0a → 02:00:00:00:00:02, VLAN 7'],
    ['ip4-input', '10.1.0.9 → 10.2.0.4 ttl 64 protocol 6'],
    ['ip4-filter', 'customers: rule 1'],
    ['ip4-lookup', 'red: 10.2.0.0/24, hop 17'],
    ['mpls-push', 'labels 200'],
    ['ethernet-output', '02:00:00:00:00:01 → 02:00:00:00:02:02'],
    ['interface-output', 'core, 102 octets'],
  ],
  [
    ['ethernet-input', 'port ge0, 60 octets, 02:00:00:00:01:0b → 02:00:00:00:00:02, VLAN 7'],
    ['ip4-input', '10.66.3.9 → 10.2.0.4 ttl 63 protocol 17'],
    ['ip4-filter', 'customers: rule 0'],
    ['ip4-filter', 'dropped: denied by a rule'],
  ],
  [
    ['ethernet-input', 'port core, 120 octets, 02:00:00:00:02:02 → 02:00:00:00:00:01'],
    ['mpls-input', 'label 300, pops to lan'],
    ['bridge-input', 'lan: 02:00:5e:00:00:07 is behind ge1.6'],
    ['interface-output', 'ge1.6, 98 octets'],
  ],
];

export const planeTraced = (mock) =>
  mock.traced
    ? WAYS.flatMap((steps, n) => steps.map(([node, note]) => ({ packet: n + 1, node, note })))
    : [];

// The signalling gateway.

const NAMES = ['hlr-a', 'hlr-b', 'smsc', 'stp1'];

/** How the media controllers stand; the forwarder of the second one is away. */
export const media = (mock, query, name) => {
  const isSecond = name === 'msc2';
  const away = isSecond && mock.isForwarderAway;
  return [
    {
      forwarder: away ? 'away' : 'controlled',
      role: isSecond ? 'standby' : 'active',
      streams: 8_240,
      ng_calls: 412,
      packets_per_s: isSecond ? 0 : 824_310,
      forwarder_permille: isSecond ? 4 : 731,
      transcoder: 'connected',
      transcoder_permille: isSecond ? 0 : 412,
      transcoded: 128,
      codecs: ['PCMU', 'PCMA', 'G722', 'opus', 'AMR', 'AMR-WB'],
      leases: [
        { group: 'access', family: 'IPv4', pairs: 40_000, leased: 24_576, in_use: 16_122 },
        { group: 'access', family: 'IPv6', pairs: 40_000, leased: 4_096, in_use: 358 },
        { group: 'core', family: 'IPv4', pairs: 20_000, leased: 19_456, in_use: 18_480 },
      ],
      session_controllers: [
        {
          session_controller: 'ssc1',
          state: isSecond ? 'standby' : 'connected',
          address: isSecond ? null : '127.0.0.1:41522',
          streams: 7_416,
        },
        {
          session_controller: 'ssc2',
          state: isSecond ? 'standby' : 'away',
          address: null,
          streams: 412,
        },
      ],
      refusals: 0,
    },
  ];
};

export function mediaStreams(mock, query) {
  const end = (leg, n, more) => ({
    leg,
    local: leg === 'a' ? `203.0.113.6:${20_000 + 2 * n}` : `10.20.0.6:${31_000 + 2 * n}`,
    remote: leg === 'a' ? `198.51.100.${20 + n}:4000` : `10.20.0.61:${40_000 + 2 * n}`,
    latched: null,
    codec: n % 4 === 3 ? 'opus/48000/2' : 'PCMA/8000',
    suite: leg === 'a' && n % 2 ? 'AES_CM_128_HMAC_SHA1_80' : 'RTP',
    direction: 'sendrecv',
    packets: 2_100 + n * 613,
    lost: n % 5,
    dropped: 0,
    jitter_us: 900 + n * 71,
    mos: 4.41 - (n % 6) / 50,
    state: 'speaks',
    ...more,
  });
  const all = Array.from({ length: 28 }, (_, n) => ({
    call: (0xa1b2c3d4e5f60000n + BigInt(n * 7_919)).toString(16),
    call_id: n === 2 ? '3848276298220188511@atlanta.example.com' : null,
    line: 0,
    session_controller: n === 2 ? 'NG' : 'ssc1',
    kind: 'audio',
    ends: [
      end('a', n, n === 4 ? { lost: 240, mos: 2.31, jitter_us: 41_200, dropped: 18 } : {}),
      end('b', n, n === 7 ? { packets: 0, lost: 0, mos: null, state: 'silent' } : {}),
    ],
  }));
  all[1].ends[0].latched = '198.51.100.21:61042';
  const call = query.get('call');
  return all.filter((row) => !call || row.call === call || row.call_id === call);
}

export const asps = (mock) =>
  NAMES.map((name, n) => ({
    name,
    role: n === 3 ? 'sgp' : 'asp',
    transport: 'sctp',
    address: `10.30.${n + 1}.1 10.31.${n + 1}.1`,
    association: n === 2 ? 'down' : 'up',
    since_us: mock.start_us - (n === 2 ? 520 : 86_400) * 1e6,
    why: n === 2 ? 'the peer does not answer INIT' : null,
    state: n === 2 ? 'down' : n === 1 ? 'inactive' : 'active',
    asp_identifier: n + 1,
    blocked: false,
    congestion: 0,
    active_for: n === 0 ? ['hlr'] : n === 3 ? ['network'] : [],
  }));

export const servers = () => [
  {
    name: 'hlr',
    routing_context: 1,
    network: 'international',
    point_codes: ['2-3-5'],
    served_by: 'peers',
    state: 'AS-ACTIVE',
    mode: 'loadshare',
    waiting: 0,
    asps: ['hlr-a active', 'hlr-b inactive'],
    registered: false,
  },
  {
    name: 'smsc',
    routing_context: 2,
    network: 'international',
    point_codes: ['2-3-6'],
    served_by: 'peers',
    state: 'AS-PENDING',
    mode: 'override',
    waiting: 14,
    asps: ['smsc down'],
    registered: true,
  },
  {
    name: 'network',
    routing_context: 7,
    network: 'international',
    point_codes: ['2-3-4'],
    served_by: 'here',
    state: 'AS-ACTIVE',
    mode: 'loadshare',
    waiting: 0,
    asps: ['stp1 active'],
    registered: false,
  },
];

export const subsystems = () => [
  { name: 'hlr', number: 6, point_codes: ['2-3-1'], user: 'tcap', state: 'allowed', why: '' },
  { name: 'msc', number: 8, point_codes: ['2-3-1'], user: 'tcap', state: 'allowed', why: '' },
  {
    name: 'ussd',
    number: 147,
    point_codes: ['2-3-1'],
    user: 'tcap',
    state: 'prohibited',
    why: 'no instance of its application is there, or it is blocked',
  },
];

export const remotes = () => [
  {
    point_code: '2-9-2',
    subsystem: null,
    state: 'unavailable',
    why: 'no ASP of its Application Server is active',
  },
  { point_code: '2-3-5', subsystem: 149, state: 'prohibited', why: '' },
];

export const tcapDialogues = () => [
  {
    dialogues: 18_420,
    dialogues_max: 100_000,
    begun_here: 2_204_118,
    begun_there: 8_911_240,
    aborts_in: 412,
    aborts_out: 97,
    rejected: 3,
    cancelled: 118,
    idle: 12,
    shed: 0,
  },
];

export const cluster = () => [
  node(1, 'this node', 24, 12_400),
  { ...node(2, 'heard', 24, 11_900), differs: true },
  { ...node(3, 'silent', 0, 0), weight: 0, heard_us: null },
];
const node = (number, state, serving, dialogues) => ({
  node: number,
  address: `10.31.9.${number}:5990`,
  state,
  draining: false,
  weight: 1,
  serving,
  dialogues,
  heard_us: state === 'this node' ? null : 93_000_000,
  differs: false,
  version: 1,
});
export const partitions = () =>
  Array.from({ length: 48 }, (_, partition) => ({
    partition,
    active: (partition % 2) + 1,
    standbys: partition % 2 || partition === 6 ? [] : [2],
    first: partition === 8 ? 2 : (partition % 2) + 1,
    epoch: 3,
    here: partition % 2 === 0,
    moving: partition === 4,
    lag: 0,
    lag_octets: 0,
    dialogues: partition % 2 ? 0 : 510,
    kept: partition % 2 ? 496 : 0,
    kept_octets: partition % 2 ? 140_000 : 0,
  }));
export const clusterLinks = () =>
  [1, 2, 3].flatMap((from) =>
    [1, 2, 3]
      .filter((to) => to !== from)
      .map((to) => ({ from, to, up: from !== 3 && to !== 3, known: from !== 3 })),
  );

export const applications = () => [
  application('hlr', 6, 'available', ['hlr-1', 'hlr-2'], 18_211, 8_911_240),
  application('ussd', 147, 'no instance', [], 0, 4_118),
];

function application(name, subsystem, state, instances, dialogues, begun_there) {
  const none = { begun_here: 0, resumed: 2, lost: 0, shed: 0, malformed: 0 };
  const listens = [`unix:${name}.sock`];
  return { name, subsystem, state, instances, dialogues, begun_there, ...none, listens };
}

export const instances = () =>
  ['hlr-1', 'hlr-2'].map((name, n) => ({
    application: 'hlr',
    name,
    group: 'a',
    state: 'ready',
    dialogues: 9_105 + n,
    waiting_octets: 0,
  }));

export const titleRules = () => [
  rule('hlr', '4477', ['2-3-5/6', '2-3-6/6'], { choice: 'share' }),
  rule('ported', '44770090[0-4]', ['2-4-1/6']),
  rule('ussd', '4477009?0', ['here/147']),
  rule('abroad', '', ['2-9-2'], { title: 'NP 1' }),
  rule('inner', '99', [], { of: 'calling', change: 'strip 2 prepend 4478' }),
];

function rule(name, digits, to, more = {}) {
  return { name, of: 'called', digits, title: '', change: '', choice: 'backup', to, ...more };
}

export function translated(_mock, query) {
  const digits = query?.get?.('digits') ?? '447700900123';
  const target = (point_code, state, chosen) => ({
    point_code,
    subsystem: 6,
    routing: 'subsystem',
    weight: 1,
    state,
    chosen,
  });
  return {
    title: `${digits} TT 0 NP 1 NAI 4`,
    of: 'called',
    verdict: 'translated',
    cause: null,
    hint: null,
    rule: 'hlr',
    to: '2-3-6',
    subsystem: 6,
    routing: 'subsystem',
    becomes: `${digits} TT 0 NP 1 NAI 4`,
    targets: [
      target('2-3-5', 'no ASP of its Application Server is active', false),
      target('2-3-6', 'available', true),
    ],
    rules: [
      { name: 'hlr', digits: '4477', holds: true, why: 'its digits are the longest' },
      { name: 'abroad', digits: '', holds: false, why: 'another one has more digits' },
    ],
  };
}

export const ss7Routes = () => [
  {
    point_code: '2-3-4',
    network: 'international',
    service_indicators: [],
    originating: [],
    to: 'this node',
    state: 'available',
  },
  ...Array.from({ length: 124 }, (_, n) => ({
    point_code: `2-${Math.floor(n / 8) + 4}-${n % 8}`,
    network: 'international',
    service_indicators: n % 2 ? [3] : [3, 5],
    originating: n % 5 ? [] : ['2-3-1'],
    to: n % 3 ? 'hlr' : 'smsc',
    state: n % 3 ? 'available' : 'unavailable',
  })),
  {
    point_code: 'all others',
    network: 'international',
    service_indicators: [],
    originating: [],
    to: 'gateway 1 (stp1)',
    state: 'available',
  },
];

export const destinations = () => [
  {
    point_code: '2-9-1',
    network: 'international',
    told_by: 'gateway 1',
    state: 'unavailable',
    congestion: 0,
  },
  {
    point_code: '2-9-2',
    network: 'international',
    told_by: 'gateway 1',
    state: 'restricted',
    congestion: 0,
  },
];

export const associations = () =>
  [0, 1, 3].map((n) => ({
    association: `${n}-1`,
    name: NAMES[n],
    state: 'established',
    port: 2905,
    peer: `10.30.${n + 1}.1`,
    peer_port: 2905,
    paths: 2,
    paths_active: n === 1 ? 1 : 2,
    streams_out: 17,
    streams_in: 17,
    peer_rwnd: 262_144,
    queued_bytes: n === 1 ? 1_420 : 0,
    unacknowledged_bytes: 380,
    held_bytes: 0,
    errors: n === 1 ? 3 : 0,
    interleaving: false,
    partial_reliability: true,
  }));

export const sctpPaths = () =>
  [0, 1, 3].flatMap((n) =>
    [30, 31].map((net) => ({
      association: `${n}-1`,
      name: NAMES[n],
      address: `10.${net}.${n + 1}.1`,
      state: n === 1 && net === 31 ? 'inactive' : 'active',
      primary: net === 30,
      srtt_ms: net === 30 ? 1.84 : n === 1 ? null : 12.1,
      rto_ms: n === 1 && net === 31 ? 60_000 : 80,
      cwnd: 9_000,
      ssthresh: null,
      flight: 0,
      errors: n === 1 && net === 31 ? 5 : 0,
      pmtu: 1_500,
    })),
  );

/** Questions that functions answer, by the path behind their name. */
export const ASKED = {
  ipsmgw: messages.ASKED,
  msc: { media, streams: mediaStreams },
  rr: {
    'bgp/summary': (mock) => bgpPeers(mock.start_us),
    'bgp/peer': (mock, query) => bgpPeer(mock.start_us, query.get('peer')),
    'bgp/families': () => bgpFamilies(),
    'bgp/routes': (mock, query) => bgpRoutes(query),
    'bgp/route': (mock, query) => bgpRoute(query),
  },
  pe: {
    'pe/summary': peSummary,
    'pe/interfaces': peInterfaces,
    'pe/vrfs': peVrfs,
    'pe/routes': peRoutes,
    'pe/bridges': peBridges,
    'pe/cross-connects': peCrossConnects,
    'pe/filters': peFilters,
    'pe/events': peEvents,
    'bgp/summary': (mock) => edgePeers(mock.start_us),
    'bgp/peer': (mock, query) =>
      bgpPeer(mock.start_us, query.get('peer'), edgePeers(mock.start_us)),
    'bgp/families': () => bgpFamilies(),
    'bgp/routes': (mock, query) => bgpRoutes(query),
    'bgp/route': (mock, query) => bgpRoute(query),
    'ldp/neighbours': ldpNeighbours,
    'plane/ports': planePorts,
    'plane/interfaces': planeInterfaces,
    'plane/neighbours': planeNeighbours,
    'plane/macs': planeMacs,
    'plane/filters': planeHits,
    'plane/graph': planeGraph,
    'plane/traced': planeTraced,
    ...network.ASKED,
  },
  sgc: {
    'm3ua/asps': asps,
    'm3ua/servers': servers,
    'm3ua/routes': ss7Routes,
    'm3ua/destinations': destinations,
    'sccp/subsystems': subsystems,
    'sccp/remotes': remotes,
    'tcap/dialogues': tcapDialogues,
    applications,
    cluster,
    'cluster/partitions': partitions,
    'cluster/links': clusterLinks,
    'applications/instances': instances,
    'gtt/rules': titleRules,
    'gtt/translate': translated,
    'sctp/associations': associations,
    'sctp/paths': sctpPaths,
  },
};

/** What the same questions are answered where nothing is configured yet. */
export function nothing(about) {
  if (about === 'media') {
    return [
      {
        forwarder: 'away',
        streams: 0,
        ng_calls: 0,
        packets_per_s: 0,
        forwarder_permille: 0,
        transcoder: 'away',
        transcoder_permille: 0,
        transcoded: 0,
        codecs: [],
        leases: [],
        session_controllers: [],
        refusals: 0,
      },
    ];
  }
  if (about === 'pe/summary') {
    return [
      {
        forwarder: 'away',
        ports: 0,
        ports_up: 0,
        interfaces: 0,
        vrfs: 0,
        cross_connects: 0,
        bridges: 0,
        routes: 0,
        refusals: 0,
      },
    ];
  }
  if (about === 'pe/vrfs') {
    return {
      rows: [{ vrf: 'global', label: null, interfaces: [], routes: 0 }],
      next: null,
      total: 1,
    };
  }
  const isPaged =
    about === 'bgp/routes' ||
    about === 'plane/macs' ||
    about === 'plane/filters' ||
    about === 'igp/database' ||
    (about.startsWith('pe/') && about !== 'pe/events');
  return isPaged ? { rows: [], next: null, total: 0 } : [];
}

/** Trails of sessions and links, for a site without calls. */
export function makeSessions(start_us) {
  const names = ['pe8', 'pe24', 'rr2', 'transit1', 'pe3', 'pe5'];
  return names.map((name, n) => {
    const isOver = n < 3;
    const started_at_us = start_us - (340 + n * 5_400) * 1e6;
    return {
      trail: {
        id: `S${n}`,
        kind: 'session',
        started_at_us,
        ended_at_us: isOver ? started_at_us + 90e6 : null,
        from: 'rr1',
        to: name,
        method: '',
        subscriber: null,
        cause: null,
        call_ids: [],
        hosts: ['10.0.0.1:179', `10.1.0.${n + 1}:41022`],
        status: null,
        outcome: isOver ? 'failed' : 'in-progress',
        duration_ms: isOver ? 90_000 : null,
        post_dial_delay_ms: null,
        messages: 0,
        retransmissions: 0,
        media: null,
      },
      hosts: [
        { address: '10.0.0.1:179', label: 'rr1', side: null, self: true },
        { address: `10.1.0.${n + 1}:41022`, label: name, side: null, self: false },
      ],
      messages: ['OPEN', 'OPEN'].map((method, at) => ({
        n: at,
        at_us: started_at_us - 2_000 + at * 1_000,
        from: at,
        to: 1 - at,
        transport: 'tcp',
        tags: '',
        call_id: '',
        leg: 0,
        method,
        status: null,
        reason: null,
        cseq: null,
        cseq_method: null,
        retransmission_of: null,
        pair: null,
        has_sdp: false,
        failed: false,
        components: [],
        text: 'BGP\nff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\n00 1d 01 04 fd e8 00 5a 0a 00 00 01 00',
      })),
      events: [
        { at_us: started_at_us, name: 'SessionEstablished', text: name, leg: null, host: 1 },
      ],
      streams: [],
      left_out: 0,
    };
  });
}
