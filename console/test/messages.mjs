// A made-up short message gateway: subscribers, messages that wait with their reasons, what the
// gateway rests on, and what an operator does.

export const PORTS = [
  { name: 'udp', transport: 'udp', address: '10.20.0.9:5090' },
  { name: 'tcp', transport: 'tcp', address: '10.20.0.9:5090' },
];

/** Metrics: name, type, help, value, how far it swings. */
export const FACTS = [
  ['ipsmgw_deliveries_ps_total', 'counter', 'Messages delivered over IP', 412, 60],
  ['ipsmgw_deliveries_cs_total', 'counter', 'Messages delivered by an MSC, SGSN or MME', 31, 6],
  ['ipsmgw_deliveries_failed_total', 'counter', 'Messages that were not delivered', 4, 2],
  [
    'ipsmgw_expired_total',
    'counter',
    "Messages of the gateway's own centre whose validity ended",
    3,
    1,
  ],
  [
    'ipsmgw_postponed_total',
    'counter',
    "Attempts of the gateway's own centre after which a message waits on",
    18,
    6,
  ],
  [
    'ipsmgw_submissions_total',
    'counter',
    'Messages of terminals that a service centre took',
    388,
    50,
  ],
  [
    'ipsmgw_submissions_failed_total',
    'counter',
    'Messages of terminals that were refused or lost',
    2,
    1,
  ],
  [
    'ipsmgw_duplicates_total',
    'counter',
    'Messages of terminals that came again and were not sent again',
    6,
    2,
  ],
  ['ipsmgw_registrations_total', 'counter', 'Third-party registrations that were stored', 210, 25],
  [
    'ipsmgw_registrations_refused_total',
    'counter',
    'Third-party registrations refused: no number, or no room',
    1,
    1,
  ],
  ['ipsmgw_deregistrations_total', 'counter', 'Registrations that were ended', 14, 4],
  ['ipsmgw_sip_untrusted_total', 'counter', 'Requests of others than the next hops, refused', 1, 1],
  ['ipsmgw_flows', 'gauge', 'Flows under way', 118, 30],
  ['ipsmgw_waiting_messages', 'gauge', "Messages that wait at the gateway's own centre", 14, 0],
  [
    'ipsmgw_waiting_subscribers',
    'gauge',
    "Subscribers whose messages wait at the gateway's own centre",
    6,
    0,
  ],
];

const NUMBER = 447_700_900_100;

/** Receivers: why they wait, failures, seconds to the next try, messages, seconds since the first. */
const WAITING = [
  ['the receiver is not registered', 3, 812, 5, 7_310],
  ['the terminal has no memory', 2, 4_020, 4, 5_140],
  ['the receiver is not registered', 1, 41, 2, 95],
  ['no delivery report came', 1, 22, 1, 38],
  ['no next hop takes it', 1, 30, 1, 30],
  ['it is under way', 0, null, 1, 1],
];

export function pending(mock, query) {
  const now = Date.now() * 1000;
  const to = query.get('to');
  return WAITING.flatMap(([why, failures, due_s, messages, since_s], n) =>
    Array.from({ length: messages }, (_, at) => ({
      id: n * 100 + at + 1,
      to: String(NUMBER + n * 7),
      from: ['Tandem', '+447700900161', '+447700900188', 'Bank'][(n + at) % 4],
      kind: at === 2 ? 'status report' : 'message',
      octets: 31 + ((n * 37 + at * 51) % 128),
      received_at_us: now - Math.max(1, since_s - at * 61) * 1e6,
      expires_at_us: now + (172_800 - since_s) * 1e6,
      failures,
      due_at_us: due_s === null ? null : now + due_s * 1e6,
      why: at === 0 ? why : 'others are before it',
      trail: '9aff81a478b2d6dc',
    })),
  ).filter((row) => !to || row.to === to);
}

export function registrations() {
  const now = Date.now() * 1000;
  return Array.from({ length: 38 }, (_, n) => {
    const number = String(NUMBER + 11 + n * 3);
    const user = `sip:+${number}@ims.mnc015.mcc234.3gppnetwork.org`;
    const at = (host) => `<sip:${number}@10.44.${n % 8}.${host}:5060>;+g.3gpp.smsip`;
    return {
      number,
      identity: user,
      s_cscf: `sip:scscf${(n % 2) + 1}.ims.mnc015.mcc234.3gppnetwork.org:6060`,
      takes: n % 9 === 4 ? 'text' : 'sms',
      contacts: n % 12 === 7 ? [at(20 + n), at(120 + n)] : [at(20 + n)],
      expires_at_us: now + (n === 0 ? 28 : 420 + n * 61) * 1e6,
    };
  });
}

const store = () => [
  {
    journal: '/var/lib/tandem/sms1.store',
    state: 'open',
    rows: 1_204_311,
    octets: 503_224_118,
    unsynced_octets: 1_420,
    unread_octets: 0,
    trouble: null,
  },
];

const nextHops = (mock) => [
  {
    name: 'scscf1',
    realm: 'core',
    target: '10.20.0.41:6060',
    transport: 'udp',
    state: 'up',
    since_us: mock.start_us - 86_000e6,
    failures: 0,
  },
  {
    name: 'scscf2',
    realm: 'core',
    target: '10.20.0.42:6060',
    transport: 'tcp',
    state: 'down',
    since_us: mock.start_us - 310e6,
    failures: 9,
  },
];

export const ASKED = {
  'sms/pending': pending,
  'sms/registrations': registrations,
  store,
  'next-hops': nextHops,
};

/** What an operator does, by its path: what it is answered. */
export const DONE = {
  'sms/send': ({ to }) => (/^\d{6,15}$/.test(to) ? [{ messages: 1 }] : null),
  'sms/retry': ({ to }) => [
    { messages: pending(null, new URLSearchParams(to ? { to } : {})).length },
  ],
};
