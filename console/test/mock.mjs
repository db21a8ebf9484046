// A stand-in for the site's HTTP server, for development and tests: the built page under the same
// content policy, and the API with made-up but coherent data. `node test/mock.mjs [PORT]`.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ASKED, FACTS as FACTS_OF, functionRow, makeSessions, nothing } from './functions.mjs';
import { DONE } from './messages.mjs';
import { liveTrail, makeDialogues, makeTrails } from './trails.mjs';

export const TOKEN = 'mock-token';
const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};
const TAIL_MS = 1_500;
const HISTORY_S = 3_600;

const FACTS = [
  ['ssc_calls_started_total', 'counter', 'Calls that began with an INVITE', 118, 22],
  ['ssc_calls_answered_total', 'counter', 'Calls answered with a 2xx', 96, 18],
  ['ssc_calls_failed_total', 'counter', 'Calls that ended without an answer', 7, 4],
  ['ssc_calls_live', 'gauge', 'Calls and subscriptions at this moment', 4120, 300],
  ['ssc_bindings_live', 'gauge', 'Registered contacts at this moment', 18230, 60],
  ['ssc_registers_forwarded_total', 'counter', 'REGISTER requests passed to the core', 21, 8],
  ['ssc_registers_local_total', 'counter', 'REGISTER requests answered from the cache', 590, 40],
  ['ssc_messages_received_total', 'counter', 'SIP messages received', 2240, 300],
  ['ssc_messages_sent_total', 'counter', 'SIP messages sent', 2231, 300],
  ['ssc_retransmissions_sent_total', 'counter', 'Messages sent again because no answer came', 3, 3],
  [
    'ssc_post_dial_delay_us',
    'histogram',
    'Time from the INVITE to the first 18x, microseconds',
    96,
    18,
  ],
  ['sas_messages_total', 'counter', 'Messages kept', 4480, 500],
  [
    'sas_shed_messages_total',
    'counter',
    'Messages that were not kept because the disk lags behind',
    0,
    0,
  ],
  ['sas_trails_opened_total', 'counter', 'Trails begun', 122, 20],
];

/** Noise that is the same for the same second, in -1 to 1. */
function noise(n) {
  let x = Math.imul(Math.floor(n) ^ 0x9e3779b9, 2246822519);
  x = Math.imul(x ^ (x >>> 13), 3266489917);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 31 - 1;
}

/** A made-up figure: a slow drift, a walk over half minutes, and the scatter of single seconds. */
function figure(base, swing, s) {
  const part = s / 24 + base;
  const ease = (1 - Math.cos((part % 1) * Math.PI)) / 2;
  const walk = noise(part) * (1 - ease) + noise(part + 1) * ease;
  const wave = Math.sin(s / 610 + base) * 0.5 + walk * 0.6 + noise(s * 31 + base) * 0.16;
  return Math.max(0, base + wave * swing);
}

const CONFIGURATION = `[site]
name = "demo"
directory = "var/demo"

[oam]
listen = "127.0.0.1:8080"

[[ssc]]
name = "ssc1"
shards = 1
capture = "tcp:127.0.0.1:9060"

[[ssc.realm]]
name = "access"
side = "access"
listen = ["udp:203.0.113.5:5060", "tcp:203.0.113.5:5060", "tls:203.0.113.5:5061"]
trusted = false
register_required = true

[[ssc.realm]]
name = "core"
side = "core"
listen = ["udp:10.20.0.5:5060"]

[[ssc.next_hop]]
name = "softswitch"
realm = "core"
targets = ["udp:10.20.0.40:5060"]
probe_interval_s = 10

[[ssc.route]]
from = "access"
to = ["softswitch"]

[sas]
listen = ["udp:127.0.0.1:9060", "tcp:127.0.0.1:9060"]
age_max_h = 72
size_max_mb = 10240
`;

class Mock {
  /** A site with these kinds of functions; one that is `bare` has nothing configured in them. */
  constructor({ kinds = ['ssc', 'sas'], bare = false } = {}) {
    this.kinds = kinds;
    this.isBare = bare;
    this.isForwarderAway = bare;
    this.traced = false;
    /** Paths that are answered with 503, by how they begin. */
    this.failing = [];
    /** Requests to the API, by path. */
    this.asked = [];
    this.start_us = Date.now() * 1000;
    this.details = kinds.includes('ssc') ? makeTrails(this.start_us) : makeSessions(this.start_us);
    if (kinds.includes('sgc') && kinds.includes('sas')) {
      this.details.push(...makeDialogues(this.start_us));
    }
    this.holder = { name: 'administrator', role: 'administrator' };
    this.candidate = CONFIGURATION;
    this.running = CONFIGURATION;
    this.revision = 7;
    this.confirm_until_ms = 0;
    this.streams = new Set();
    this.next = 7100;
    this.dropped = 0;
  }

  site() {
    const now = Date.now() * 1000;
    return {
      name: 'demo',
      version: '0.1.0',
      started_at_us: this.start_us - 9_300_000_000,
      draining: false,
      functions: this.kinds.flatMap((kind) => {
        const row = functionRow(kind, 9_300 + (now - this.start_us) / 1e6);
        return kind === 'msc' ? [row, { ...row, name: 'msc2' }] : [row];
      }),
    };
  }

  /** Metrics of the functions that there are. */
  facts() {
    const own = FACTS.filter(([name]) => this.kinds.includes(name.split('_')[0]));
    return [...own, ...this.kinds.flatMap((kind) => FACTS_OF[kind] ?? [])];
  }

  alarms(history) {
    const ago = (s) => this.start_us - s * 1_000_000;
    const rows = [
      {
        id: 'a41',
        severity: 'major',
        function: 'ssc1',
        name: 'next_hop_down',
        subject: 'softswitch-b',
        text: 'Next hop softswitch-b does not answer OPTIONS',
        probable_cause: 'communications protocol error',
        raised_at_us: ago(340),
        cleared_at_us: null,
        count: 3,
      },
      {
        id: 'a44',
        severity: 'warning',
        function: 'ssc1',
        name: 'certificate_expires',
        subject: 'realm access',
        text: 'The certificate of realm access expires in 12 days',
        probable_cause: 'certificate expiry',
        raised_at_us: ago(7_200),
        cleared_at_us: null,
        count: 1,
      },
      {
        id: 'a42',
        severity: 'major',
        function: 'rr1',
        name: 'bgp-session-down',
        subject: 'pe8',
        text: 'the session of pe8 does not stand: received Hold Timer Expired',
        probable_cause: 'communications-subsystem-failure',
        raised_at_us: ago(340),
        cleared_at_us: null,
        count: 2,
      },
      {
        id: 'a45',
        severity: 'minor',
        function: 'pe1',
        name: 'link-down',
        subject: 'ge2',
        text: 'port ge2 has no link',
        probable_cause: 'loss of signal',
        raised_at_us: ago(620),
        cleared_at_us: null,
        count: 1,
      },
      {
        id: 'a46',
        severity: 'major',
        function: 'sgc1',
        name: 'association-down',
        subject: 'smsc',
        text: 'the association of smsc does not stand: the peer does not answer INIT',
        probable_cause: 'communications-subsystem-failure',
        raised_at_us: ago(520),
        cleared_at_us: null,
        count: 1,
      },
      {
        id: 'a40',
        severity: 'critical',
        function: 'sas1',
        name: 'capture_shed',
        subject: 'tcp:127.0.0.1:9060',
        text: '1 204 packets were shed: the store fell behind',
        probable_cause: 'congestion',
        raised_at_us: ago(5_900),
        cleared_at_us: ago(5_842),
        count: 1,
      },
      {
        id: 'a38',
        severity: 'minor',
        function: 'ssc1',
        name: 'registrations_near_limit',
        subject: 'bindings',
        text: 'Bindings are at 92 % of their limit',
        probable_cause: 'threshold crossed',
        raised_at_us: ago(8_800),
        cleared_at_us: ago(6_100),
        count: 6,
      },
    ];
    const known = rows.filter((row) => this.kinds.includes(row.function.slice(0, -1)));
    return history ? known : known.filter((row) => row.cleared_at_us === null);
  }

  counts() {
    const counts = { critical: 0, major: 0, minor: 0, warning: 0 };
    for (const { severity } of this.alarms(false)) counts[severity] += 1;
    return counts;
  }

  live() {
    const s = Date.now() / 1000;
    const of = (kind) =>
      Object.fromEntries(
        this.facts()
          .filter((fact) => (fact[1] === 'gauge') === (kind === 'gauge') && fact[1] !== 'histogram')
          .map(([name, , , base, swing]) => [name, Math.round(figure(base, swing, s) * 10) / 10]),
      );
    return {
      at_us: Date.now() * 1000,
      rates: of('counter'),
      gauges: Object.fromEntries(Object.entries(of('gauge')).map(([k, v]) => [k, Math.round(v)])),
      alarms: this.counts(),
      functions: this.site().functions.map(({ name, kind, state }) => ({ name, kind, state })),
    };
  }

  history(query) {
    const names = (query.get('name') ?? '').split(',').filter(Boolean);
    const since = Math.min(HISTORY_S, Number(query.get('since_s') ?? 600));
    const end_s = Math.floor(Date.now() / 1000);
    const series = [];
    for (const [name, kind, , base, swing] of this.facts()) {
      const rows =
        kind === 'histogram'
          ? [
              [name, base, swing],
              [`${name}:p50`, 86_000, 9_000],
              [`${name}:p99`, 524_000, 90_000],
            ]
          : [[name, base, swing]];
      for (const [row, b, w] of rows) {
        if (names.length && !names.includes(row)) continue;
        series.push({
          function: `${name.split('_')[0]}1`,
          name: row,
          kind: row.includes(':') ? 'quantile' : kind,
          values: Array.from(
            { length: since },
            (_, i) => Math.round(figure(b, w, end_s - since + i) * 10) / 10,
          ),
        });
      }
    }
    return { step_s: 1, end_s, series };
  }

  registrations() {
    const now = Date.now() * 1000;
    return Array.from({ length: 64 }, (_, n) => {
      const number = 4930555_0100 + n * 17;
      const host = `198.51.100.${20 + n}`;
      return {
        aor: `sip:+${number}@ims.example.net`,
        contact: `sip:${number}@${host}:5060;transport=udp`,
        realm: 'access',
        source: `${host}:${5060 + (n % 3)}`,
        transport: n % 5 ? 'udp' : 'tls',
        expires_at_us: now + ((n * 7) % 30) * 1e6,
        core_expires_at_us: now + (400 + n * 20) * 1e6,
        registered_at_us: now - n * 41e6,
        user_agent: ['Acme-Phone/4.2', 'Linphone/5.2', 'Groundwire', 'Fritz!OS'][n % 4],
        aliases: n % 4 === 0 ? [`tel:+${number}`] : [],
      };
    });
  }

  /** Phones of IMS: most stand, one registers anew, one is behind a NAT. */
  agreements(query) {
    const now = Date.now() * 1000;
    const row = (n, state, more = {}) => ({
      impi: `26207000000${String(1000 + n)}@ims.example.net`,
      realm: 'access',
      state,
      ue: `198.51.100.${20 + n}:6100`,
      outside: null,
      algorithms: n % 3 ? 'null/aes-gcm' : 'hmac-sha-1-96/aes-cbc',
      ue_ports: [6200, 6100],
      own_ports: [n % 2 ? 5064 : 5066, 5062],
      spi_in: [4_100_000_100 + n, 4_100_000_101 + n],
      spi_out: [1_000 + n, 1_001 + n],
      packets_in: 12_400 - n * 91,
      packets_out: 11_900 - n * 87,
      replayed: n === 4 ? 7 : 0,
      forged: 0,
      expires_at_us: now + (500 + n * 13) * 1e6,
      octets: 1_480,
      ...more,
    });
    const none = { algorithms: null, ue_ports: null, own_ports: null, spi_in: [], spi_out: [] };
    const rows = Array.from({ length: 24 }, (_, n) => row(n, 'current'));
    rows.push(row(2, 'old', { expires_at_us: now + 21e6, spi_in: [77, 78] }));
    rows.push(row(30, 'challenged', { packets_in: 0, packets_out: 1 }));
    rows.push(row(31, 'offered', { ...none, packets_in: 0, packets_out: 0 }));
    rows.push(row(32, 'current', { outside: '203.0.113.9:61022' }));
    const impi = query.get('impi');
    return rows.filter((row) => !impi || row.impi === impi);
  }

  /** What the core is asked to tell of registrations. */
  regEvents() {
    const now = Date.now() * 1000;
    return Array.from({ length: 6 }, (_, n) => ({
      identity: `sip:+4930200${String(1000 + n)}@ims.example.net`,
      realm: 'access',
      state: n === 5 ? 'waiting' : 'standing',
      core: '10.20.0.40:5060',
      version: n === 5 ? null : n,
      refused: n === 5 ? 489 : null,
      failures: n === 5 ? 2 : 0,
      expires_at_us: n === 5 ? null : now + (900 + n * 40) * 1e6,
      due_at_us: now + 300e6,
    }));
  }

  attaches() {
    const impi = (n) => `26207000000${String(1000 + n)}@ims.example.net`;
    return [
      [40, 4, 'the core answered 403 to the response to its challenge'],
      [41, 31, 'the request asks for no security agreement (RFC 3329 §2.3.1)'],
      [42, 95, 'the challenge was not answered in time'],
    ].map(([n, ago_s, why]) => ({
      impi: impi(n),
      source: `198.51.100.${20 + n}:5060`,
      ago_s,
      why,
    }));
  }

  /** The search, with the filters of the API. */
  trails(query) {
    const has = (places, name) => {
      const wanted = query.get(name)?.toLowerCase();
      return !wanted || places.some((place) => place.toLowerCase().includes(wanted));
    };
    // Of the conditions on media the one that people type most.
    const [, below] = /^mos\s*<\s*([\d.]+)$/i.exec(query.get('q') ?? '') ?? [];
    if (below) query.delete('q');
    const isPoor = (media) => !below || (media?.mos_hundredths ?? 999) < Number(below) * 100;
    const equal = (value, name) => !query.get(name) || String(value) === query.get(name);
    const found = this.details
      .map((d) => d.trail)
      .filter(
        (t) =>
          has([t.from, t.to, ...t.call_ids, ...t.hosts], 'q') &&
          isPoor(t.media) &&
          has([t.from, t.to], 'number') &&
          has(t.call_ids, 'call_id') &&
          has(t.hosts, 'address') &&
          equal(t.kind, 'kind') &&
          equal(t.outcome, 'outcome') &&
          equal(t.method, 'method') &&
          equal(t.status, 'status') &&
          t.started_at_us >= Number(query.get('from_us') ?? 0) &&
          t.started_at_us <= Number(query.get('to_us') ?? Infinity),
      );
    const at = Number(query.get('cursor') ?? 0);
    const limit = Number(query.get('limit') ?? 50);
    const next = at + limit < found.length ? String(at + limit) : null;
    return { trails: found.slice(at, at + limit), next, took_us: 3_140, total_known: found.length };
  }

  /** The calls with the lowest MOS. */
  worst(query) {
    const { trails } = this.trails(new URLSearchParams({ q: query.get('q') ?? '', limit: '500' }));
    const known = this.isBare ? [] : trails.filter((trail) => trail.media);
    const found = known.sort((a, b) => a.media.mos_hundredths - b.media.mos_hundredths);
    return { trails: found.slice(0, Number(query.get('limit') ?? 20)), took_us: 2_310 };
  }

  check() {
    const issues = [];
    this.candidate.split('\n').forEach((line, i) => {
      if (
        /^\s*(name|side|realm|listen|targets|trusted|to|from|shards|capture|directory|register_required|probe_interval_s|age_max_h|size_max_mb)\s*=|^\s*(\[|#|$)/.test(
          line,
        )
      )
        return;
      issues.push({
        line: i + 1,
        column: 1,
        path: line.split('=')[0].trim(),
        what: 'is not known here.',
        hint: 'Remove it, or look at the names that `tandem check --help` lists.',
      });
    });
    return { issues };
  }

  difference() {
    if (this.candidate === this.running) return '';
    const before = this.running.split('\n');
    const after = this.candidate.split('\n');
    const first = before.findIndex((line, i) => line !== after[i]);
    let tail = 0;
    while (tail < before.length - first && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
    return [
      '--- running',
      '+++ candidate',
      `@@ -${first + 1} +${first + 1} @@`,
      ...before.slice(first, before.length - tail).map((l) => `-${l}`),
      ...after.slice(first, after.length - tail).map((l) => `+${l}`),
    ].join('\n');
  }

  commit(body) {
    this.running = this.candidate;
    this.revision += 1;
    this.comment = body.comment ?? null;
    this.confirm_until_ms = body.confirm_s ? Date.now() + body.confirm_s * 1000 : 0;
    return { revision: this.revision };
  }
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

function refuse(response, status, code, message) {
  send(response, status, { error: { code, message, details: [] } });
}

function send(response, status, value, type = 'application/json') {
  if (value === undefined) return response.writeHead(status).end();
  const data = type === 'application/json' ? JSON.stringify(value) : value;
  return response
    .writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    .end(data);
}

function stream(mock, response, { first, every_ms, event }, make) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const say = (value) =>
    response.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(value)}\n\n`);
  if (first) say(make());
  const timer = setInterval(() => say(make()), every_ms);
  mock.streams.add(timer);
  response.on('close', () => clearInterval(timer));
}

async function page(path, response) {
  const wanted = normalize(path === '/' ? '/index.html' : path);
  try {
    const data = await readFile(join(DIST, wanted));
    response
      .writeHead(200, {
        'content-type': TYPES[extname(wanted)] ?? 'application/octet-stream',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
      })
      .end(data);
  } catch {
    refuse(response, 404, 'not_found', `There is no ${path}.`);
  }
}

const GET = {
  '/site': (mock) => mock.site(),
  '/counters': (mock) =>
    mock.facts().map(([name, kind, help, value]) => ({
      function: `${name.split('_')[0]}1`,
      shard: 0,
      name,
      kind,
      help,
      value: value * 1000,
    })),
  '/metrics/history': (mock, query) => mock.history(query),
  '/config/exposures': (mock) =>
    [
      {
        line: 9,
        column: 1,
        path: 'oam.listen',
        what: 'the API is reached from other machines, and nothing encrypts the token',
        hint: 'listen on 127.0.0.1 behind a TLS proxy, or keep the network private',
      },
      {
        line: 31,
        column: 1,
        path: 'ssc[0].realm[0].listen',
        what: 'whoever reaches this realm makes calls: nobody has to be registered',
        hint: 'add `register_required = true`, or keep the network private',
      },
    ].filter(({ path }) => path.startsWith('oam') || mock.kinds.includes(path.split('[')[0])),
  '/alarms': (mock, query) => mock.alarms(query.get('history') === 'true'),
  '/functions/ssc1/registrations': (mock) => (mock.isBare ? [] : mock.registrations()),
  '/functions/ssc1/ipsec': (mock, query) => (mock.isBare ? [] : mock.agreements(query)),
  '/functions/ssc1/ims/explain': (mock) => (mock.isBare ? [] : mock.attaches()),
  '/functions/ssc1/ims/reg-events': (mock) => (mock.isBare ? [] : mock.regEvents()),
  '/functions/ssc1/next-hops': (mock) => [
    {
      name: 'softswitch',
      realm: 'core',
      target: '10.20.0.40:5060',
      transport: 'udp',
      state: 'up',
      since_us: mock.start_us - 9_200e6,
      failures: 0,
    },
    {
      name: 'softswitch-b',
      realm: 'core',
      target: '10.20.0.41:5060',
      transport: 'udp',
      state: 'down',
      since_us: mock.start_us - 340e6,
      failures: 34,
    },
  ],
  '/sas/trails': (mock, query) => mock.trails(query),
  '/sas/worst': (mock, query) => mock.worst(query),
  '/sas/status': (mock) => ({
    name: 'sas1',
    live: 12,
    live_max: 1e6,
    messages: 91_204,
    events: 40_112,
    shed: 0,
    partitions: 3,
    bytes: 41_204_112,
    bytes_max: 10_737_418_240,
    first_us: mock.start_us - 9_280e6,
    last_us: mock.start_us,
    failing: null,
  }),
  '/config': (mock) => ({
    text: mock.running,
    revision: mock.revision,
    confirm_within_s:
      mock.confirm_until_ms > Date.now()
        ? Math.ceil((mock.confirm_until_ms - Date.now()) / 1000)
        : null,
  }),
  '/config/candidate': (mock) => ({ text: mock.candidate, revision: mock.revision }),
  '/config/candidate/interruptions': (mock) =>
    mock.candidate === mock.running
      ? []
      : [{ line: 9, column: 1, path: 'rr[0].peer[0]', what: 'rr1: this session restarts: pe1' }],
  '/config/history': (mock) => [
    {
      revision: mock.revision,
      at_us: mock.start_us,
      cause: 'commit',
      of: null,
      by: 'alice',
      comment: mock.comment ?? null,
      state: mock.confirm_until_ms > Date.now() ? 'pending' : 'active',
      note: 'commit',
      running: true,
    },
    {
      revision: mock.revision - 1,
      at_us: mock.start_us - 86_400e6,
      cause: 'start',
      of: null,
      by: null,
      comment: null,
      state: 'confirmed',
      note: 'the site file at start',
      running: false,
    },
  ],
};

const POST = {
  '/config/candidate/check': (mock) => mock.check(),
  '/config/candidate/commit': (mock, data) => mock.commit(JSON.parse(String(data) || '{}')),
  '/config/confirm': (mock) => ((mock.confirm_until_ms = 0), {}),
  '/config/rollback': (mock) => (
    (mock.running = mock.candidate = CONFIGURATION),
    (mock.confirm_until_ms = 0),
    {}
  ),
};

function trailPath(mock, path, response) {
  const [, id, form] = /^\/sas\/trails\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (!id) return false;
  const detail = mock.details.find((d) => d.trail.id === decodeURIComponent(id));
  if (!detail)
    refuse(response, 404, 'not_found', 'No trail has this number, or it has been removed by age.');
  else if (!form || form === 'json') send(response, 200, detail);
  else if (form === 'text')
    send(response, 200, detail.messages.map((m) => m.text).join('\n'), 'text/plain');
  else
    send(
      response,
      200,
      Buffer.from('0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000', 'hex'),
      'application/x-pcapng',
    );
  return true;
}

async function answer(mock, request, response) {
  const url = new URL(request.url, 'http://mock');
  if (!url.pathname.startsWith('/api/v1')) return page(url.pathname, response);
  const path = url.pathname.slice('/api/v1'.length);
  const data = request.method === 'GET' ? null : await body(request);
  if (path === '/session' && request.method === 'POST') {
    if (JSON.parse(String(data)).token !== TOKEN)
      return refuse(response, 401, 'unauthorised', 'The token is not known.');
    response.setHeader('set-cookie', `tandem_session=${TOKEN}; HttpOnly; SameSite=Strict; Path=/`);
    return send(response, 204, undefined);
  }
  const known =
    request.headers.cookie?.includes(`tandem_session=${TOKEN}`) ||
    request.headers.authorization === `Bearer ${TOKEN}`;
  if (!known) return refuse(response, 401, 'unauthorised', 'Sign in first.');
  if (path === '/session' && request.method === 'DELETE') {
    response.setHeader(
      'set-cookie',
      'tandem_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0',
    );
    return send(response, 204, undefined);
  }
  mock.asked.push(path);
  if (mock.failing.some((start) => path.startsWith(start)))
    return refuse(response, 503, 'unreachable', 'The function does not answer.');
  if (path === '/session') return send(response, 200, mock.holder);
  if (path === '/live')
    return stream(mock, response, { first: true, every_ms: 1_000 }, () => mock.live());
  if (path === '/sas/tail')
    return stream(mock, response, { every_ms: TAIL_MS, event: 'trail' }, () => {
      const detail = liveTrail(mock.next++, Date.now() * 1000);
      mock.details.unshift(detail);
      return { ...detail.trail, dropped: mock.dropped++ };
    });
  if (path === '/sas/read') {
    if (data.length < 24)
      return refuse(response, 400, 'malformed', 'This is neither pcap nor pcapng.');
    return send(response, 200, { trails: mock.details.slice(1, 4) });
  }
  if (path === '/config/candidate/compare')
    return send(response, 200, mock.difference(), 'text/plain');
  if (path === '/config/candidate' && request.method === 'PUT') {
    mock.candidate = String(data);
    return send(response, 204, undefined);
  }
  if (path === '/config/candidate' && request.method === 'DELETE') {
    mock.candidate = mock.running;
    return send(response, 204, undefined);
  }
  const [, name, about] = /^\/functions\/([^/]+)\/(.+)$/.exec(path) ?? [];
  if (about === 'plane/trace') {
    mock.traced = true;
    return send(response, 200, [{ tracing: 5 }]);
  }
  if (about && request.method === 'POST' && DONE[about]) {
    const done = DONE[about](JSON.parse(String(data)));
    if (done) return send(response, 200, done);
    return refuse(response, 400, 'bad-request', 'A number is digits with the country code.');
  }
  const asked = about && ASKED[name.slice(0, -1)]?.[about];
  if (asked) {
    const found = mock.isBare ? nothing(about) : asked(mock, url.searchParams, name);
    if (found) return send(response, 200, found);
    return refuse(response, 404, 'not_found', `There is no such ${about}.`);
  }
  const handler = (request.method === 'GET' ? GET : POST)[path];
  if (handler) return send(response, 200, handler(mock, data ?? url.searchParams));
  if (!trailPath(mock, path, response)) refuse(response, 404, 'not_found', `There is no ${path}.`);
}

/** Starts the mock; port 0 takes any. Gives its URL and a way to stop it. */
export async function startMock(port = 0, site = {}) {
  const mock = new Mock(site);
  const server = createServer((request, response) => {
    answer(mock, request, response).catch((error) => refuse(response, 500, 'fault', String(error)));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () => {
    for (const timer of mock.streams) clearInterval(timer);
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, token: TOKEN, mock, stop };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // `node test/mock.mjs 26000 rr,sas`: a site with these functions.
  const kinds = process.argv[3]?.split(',');
  const { url, token } = await startMock(Number(process.argv[2] ?? 26000), kinds && { kinds });
  console.log(`${url}/#token=${token}`);
}
