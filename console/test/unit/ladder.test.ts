// The ladder's geometry: where hosts stand, what rows there are, what is joined.
import { describe, expect, it } from 'vitest';
import type { Host, NextHop, TrailDetail, TrailMessage } from '../../src/lib/api';
import { layout, order, classOf, linePath } from '../../src/lib/ladder';
import { named } from '../../src/lib/hosts';
import { draw } from '../../src/lib/svg';

const ALL = { leg: null, events: true, retransmissions: true };

function host(address: string, side: Host['side'], self = false): Host {
  return { address, side, self, label: '' };
}

function message(
  n: number,
  at_ms: number,
  from: number,
  to: number,
  more: Partial<TrailMessage> = {},
): TrailMessage {
  return {
    n,
    at_us: at_ms * 1000,
    from,
    to,
    transport: 'udp',
    tags: '',
    call_id: 'x',
    leg: 0,
    method: 'INVITE',
    status: null,
    reason: null,
    cseq: 1,
    cseq_method: 'INVITE',
    retransmission_of: null,
    pair: null,
    has_sdp: false,
    failed: false,
    components: [],
    text: '',
    ...more,
  };
}

function detail(hosts: Host[], messages: TrailMessage[]): TrailDetail {
  return {
    hosts,
    messages,
    events: [],
    streams: [],
    left_out: 0,
    trail: {
      id: 't',
      kind: 'call',
      started_at_us: 0,
      ended_at_us: null,
      from: 'sip:a@x',
      to: 'sip:b@x',
      method: 'INVITE',
      subscriber: null,
      cause: null,
      call_ids: [],
      hosts: [],
      status: null,
      outcome: 'answered',
      duration_ms: null,
      post_dial_delay_ms: null,
      messages: messages.length,
      retransmissions: 0,
      media: null,
    },
  };
}

const HOSTS = [
  host('core', 'core'),
  host('own-core', 'core', true),
  host('phone', 'access'),
  host('own-access', 'access', true),
];

function twoLegs(): TrailDetail {
  return detail(HOSTS, [
    message(0, 0, 2, 3, { pair: 1 }),
    message(1, 1, 1, 0, { pair: 0, leg: 1 }),
    message(2, 501, 1, 0, { leg: 1, retransmission_of: 1 }),
    message(3, 600, 0, 1, { leg: 1, method: null, status: 200, reason: 'OK' }),
  ]);
}

describe('columns', () => {
  it('put the access side left, Tandem in the middle, the core side right', () => {
    expect(order(twoLegs()).map((i) => HOSTS[i]?.address)).toEqual([
      'phone',
      'own-access',
      'own-core',
      'core',
    ]);
  });

  it('place a host without a side by the Tandem address that it speaks with', () => {
    const hosts = [
      host('own-core', 'core', true),
      host('far', null),
      host('near', null),
      host('own', 'access', true),
    ];
    const trail = detail(hosts, [message(0, 0, 0, 1), message(1, 1, 2, 3)]);
    expect(order(trail).map((i) => hosts[i]?.address)).toEqual(['near', 'own', 'own-core', 'far']);
  });

  it('keep the order of first appearance without a Tandem in the picture', () => {
    const hosts = [host('a', null), host('b', null), host('c', null)];
    expect(order(detail(hosts, [message(0, 0, 2, 0), message(1, 1, 0, 1)]))).toEqual([2, 0, 1]);
  });

  it('never come closer than a label needs', () => {
    const { columns } = layout(twoLegs(), 100, ALL);
    for (let i = 1; i < columns.length; i++) {
      expect((columns[i]?.x ?? 0) - (columns[i - 1]?.x ?? 0)).toBeGreaterThanOrEqual(127);
    }
  });
});

describe('rows', () => {
  it('follow time downwards and give a silence more room', () => {
    const scene = layout(twoLegs(), 800, ALL);
    const ys = scene.arrows.map((arrow) => arrow.y);
    expect(ys).toEqual([...ys].sort((a, b) => a - b));
    expect((ys[2] ?? 0) - (ys[1] ?? 0)).toBeGreaterThan((ys[1] ?? 0) - (ys[0] ?? 0));
    expect(scene.gaps).toHaveLength(1);
  });

  it('hide what is not chosen', () => {
    const trail = twoLegs();
    expect(layout(trail, 800, { ...ALL, retransmissions: false }).arrows).toHaveLength(3);
    expect(layout(trail, 800, { ...ALL, leg: 0 }).arrows).toHaveLength(1);
  });

  it('put an event on the line of its host, after the message of that instant', () => {
    const trail = twoLegs();
    trail.events = [{ at_us: 0, name: 'CallReceived', text: '', leg: 0, host: 3 }];
    const scene = layout(trail, 800, ALL);
    expect(scene.pills[0]?.x).toBe(scene.columns[1]?.x);
    expect(scene.pills[0]?.y).toBeGreaterThan(scene.arrows[0]?.y ?? 0);
    expect(scene.pills[0]?.y).toBeLessThan(scene.arrows[1]?.y ?? 0);
  });

  it('join a message to its pair once, and never a retransmission', () => {
    const { links } = layout(twoLegs(), 800, ALL);
    expect(links.map(({ from, to }) => [from, to])).toEqual([[0, 1]]);
  });

  it('tell the time through one line beside it, where no message stands', () => {
    const hosts = [host('core', null), host('gateway', null, true)];
    const trail = detail(hosts, [
      message(0, 0, 0, 1, { pair: 1 }),
      message(1, 3, 1, 0, { pair: 2 }),
      message(2, 5, 0, 1),
    ]);
    const { links, columns } = layout(trail, 400, ALL);
    const [near, far] = columns.map((column) => column.x);
    expect(links[0]?.x).toBeGreaterThan((far ?? 0) + 20);
    expect(links[1]?.x).toBeLessThan((near ?? 0) - 20);
  });

  it('draw a message to oneself as a loop', () => {
    const [arrow] = layout(detail([host('a', null)], [message(0, 0, 0, 0)]), 300, ALL).arrows;
    expect(arrow?.loop).toBe(true);
    expect(linePath(arrow!)).toContain('a4 4');
  });

  it('stand an empty trail', () => {
    const scene = layout(detail([], []), 300, ALL);
    expect(scene.arrows).toEqual([]);
    expect(scene.band).toBeNull();
  });
});

it('classes follow the status', () => {
  const of = (status: number | null) => classOf(message(0, 0, 0, 0, { status }));
  expect([null, 100, 200, 302, 486, 503, 603].map(of)).toEqual([
    'request',
    'provisional',
    'success',
    'redirect',
    'failure',
    'failure',
    'failure',
  ]);
});

it('the drawing escapes what the network sent', () => {
  const trail = twoLegs();
  trail.messages[3]!.reason = '<script>&"';
  const svg = draw(layout(trail, 800, ALL), 'a <b>');
  expect(svg).not.toContain('<script>');
  expect(svg).toContain('&#60;script&#62;');
  expect(svg).toContain('stroke-dasharray="5 4"');
});

it('hosts that are ours carry the name of their port, whatever their messages say', () => {
  const hosts = [
    { ...host('10.0.0.1:5060', null), label: 'Phone/1' },
    { ...host('10.0.0.2:5060', null), label: 'Phone/1' },
    { ...host('10.0.0.3:5060', null, true), label: 'Phone/1' },
  ];
  const ports = [{ name: 'access udp', transport: 'udp', address: '10.0.0.2:5060' }];
  const site = [
    { name: 'ssc1', kind: 'ssc', state: 'running' as const, shards: 1, uptime_s: 1, ports },
  ];
  const hop = { name: 'softswitch', target: '10.0.0.1:5060' } as NextHop;
  expect(named(detail(hosts, []), site, [hop]).hosts[0]?.label).toBe('softswitch');
  expect(named(detail(hosts, []), site).hosts.map((h) => [h.label, h.self])).toEqual([
    ['Phone/1', false],
    ['ssc1 access', true],
    ['10.0.0.3:5060', true],
  ]);
});

describe('dialogues', () => {
  it('are coloured by what their messages tell', () => {
    const of = (method: string, failed = false): TrailMessage => ({
      ...message(0, 0, 0, 1, { method }),
      failed,
      components: [{}],
    });
    expect(classOf(of('Begin sendRoutingInfoForSM'))).toBe('request');
    expect(classOf(of('End result sendRoutingInfoForSM'))).toBe('success');
    expect(classOf(of('End error unknownSubscriber', true))).toBe('failure');
  });
});
