import { expect, test } from 'vitest';
import type { ClusterNode, Partition } from '../../src/lib/api';
import { hears, said, served, standing } from '../../src/lib/cluster';

const row = (partition: number, active: number | null, more: Partial<Partition> = {}) => ({
  partition,
  active,
  standbys: [],
  first: 1,
  epoch: 3,
  here: active === 1,
  moving: false,
  lag: 0,
  lag_octets: 0,
  dialogues: 0,
  kept: 0,
  kept_octets: 0,
  ...more,
});

test('partitions stand with the node that serves them, those that nobody serves first', () => {
  const rows = [
    row(0, 2, { first: 2, kept: 5 }),
    row(1, 1, { standbys: [2], dialogues: 7 }),
    row(2, 1),
    row(3, null),
    row(4, 1, { standbys: [3] }),
    row(5, 1, { standbys: [2] }),
  ];
  const all = served(rows);
  expect(all.map((it) => [it.node, it.partitions.length, it.alone])).toEqual([
    [null, 1, 1],
    [1, 4, 1],
    [2, 1, 0],
  ]);
  expect(all[1]?.standbys).toEqual([
    [2, 2],
    [3, 1],
  ]);
  expect([all[1]?.dialogues, all[2]?.kept]).toEqual([7, 5]);
});

test('a partition says who serves it, where it has come from, and who stands by', () => {
  expect(said(row(8, 2, { kept: 5 }))).toBe(
    'Partition 8, served by node 2, it has moved from node 1, 5 dialogues kept here',
  );
  expect(said(row(3, null))).toBe('Partition 3, served by no node');
  expect(said(row(2, 1))).toBe('Partition 2, served by node 1, no standby has all of it');
});

test('of a node that is not heard it is not known whom it hears', () => {
  const link = (from: number, to: number, up: boolean, known = true) => ({ from, to, up, known });
  const links = [link(1, 2, true), link(2, 1, false), link(3, 1, false, false)];
  expect([hears(links, 1, 2), hears(links, 2, 1)]).toEqual(['up', 'down']);
  expect([hears(links, 3, 1), hears(links, 3, 2)]).toEqual(['unknown', 'unknown']);
});

test('how a cluster stands is a line, what is wrong first', () => {
  const node = (node: number, state: ClusterNode['state']): ClusterNode => ({
    node,
    address: '192.0.2.1:5990',
    state,
    draining: false,
    weight: 1,
    serving: 1,
    dialogues: 0,
    heard_us: null,
    differs: false,
    version: 1,
  });
  const rows = [row(0, 1, { standbys: [2] }), row(1, 2)];
  expect(standing([node(1, 'this node'), node(2, 'heard')], rows)).toEqual({
    text: 'all 2 nodes are heard, all 2 partitions are served',
    good: true,
  });
  expect(standing([node(1, 'this node'), node(2, 'silent')], [row(0, 1), row(1, null)])).toEqual({
    text: 'node 2 is not heard, 1 partition is served by no node, 1 partition has no standby',
    good: false,
  });
});
