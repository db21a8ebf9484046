import { expect, test } from 'vitest';
import type { PlaneNode, PlanePort } from '../../src/lib/api';
import {
  driver,
  droppedBy,
  drops,
  isTaken,
  lost,
  matches,
  spelled,
  traces,
  way,
} from '../../src/lib/edge';
import { Meter } from '../../src/lib/meter';

const port = {
  port: 'ge0',
  driver: { AfXdp: { device: 'eth1' } },
  up: true,
  'not_received_queue-full': 3,
  not_sent_link: 0,
} as unknown as PlanePort;

test('drops of nodes and losses of ports are one list, the most first', () => {
  const node = { node: 'ip4-lookup', dropped: { 'no route': 9, 'bad checksum': 0 } };
  expect(drops([node as unknown as PlaneNode], [port])).toEqual([
    { reason: 'no route', where: 'ip4-lookup', packets: 9 },
    { reason: 'not received: queue full', where: 'port ge0', packets: 3 },
  ]);
  expect([lost(port), driver(port)]).toEqual([3, 'AF_XDP']);
});

test('what the router takes itself is not dropped by a node', () => {
  const node = { node: 'nd-input', dropped: { 'nd heard': 6, 'hop limit is not 255': 1 } };
  expect(droppedBy(node as unknown as PlaneNode)).toBe(1);
  expect(spelled('nd heard')).toBe('ND heard');
});

test('ways and rules are told in words', () => {
  expect(way({ gateway: '192.0.2.2', interface: 'core', labels: [16, 200], weight: 2 })).toBe(
    '192.0.2.2 by core, labels 16 200, weight 2',
  );
  expect(way({ interface: 'core' })).toBe('core');
  const rule = {
    action: 'permit',
    protocol: 'tcp',
    source: '10.0.0.0/8',
    destination_ports: ['80'],
  };
  expect(matches(rule)).toBe('tcp from 10.0.0.0/8 port 80');
  expect(matches({ action: 'permit' })).toBe('everything');
});

test('steps become packets, each with what became of it', () => {
  const steps = [
    { packet: 1, node: 'ethernet-input', note: 'port 1' },
    { packet: 1, node: 'ip4-input', note: '10.0.0.1 → 10.0.0.2 ttl 64 protocol 1' },
    { packet: 2, node: 'ip4-filter', note: '' },
    { packet: 2, node: 'ip4-filter', note: 'dropped: denied by a rule' },
  ];
  const [first, second] = traces(steps);
  expect([first?.about, first?.dropped]).toEqual([steps[1]?.note, '']);
  expect([second?.dropped, second?.steps.length]).toEqual(['denied by a rule', 1]);
  expect([isTaken('arp heard'), isTaken('denied by a rule')]).toEqual([true, false]);
  const held = ['neighbour asked for, packet held', 'neighbour asked for already'];
  expect(held.map(isTaken)).toEqual([true, false]);
});

test('a counter that began anew has grown by nothing', () => {
  const meter = new Meter();
  expect(meter.take({ a: 5 }, 1_000)).toEqual({ a: null });
  expect(meter.take({ a: 25, b: 1 }, 3_000)).toEqual({ a: 10, b: null });
  expect(meter.take({ a: 2 }, 4_000)).toEqual({ a: 0 });
});
