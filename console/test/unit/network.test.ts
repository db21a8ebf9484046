import { expect, test } from 'vitest';
import type { IgpChange, IgpLink, IgpNeighbour, IgpNode, IgpTopology } from '../../src/lib/api';
import {
  back,
  before,
  byTrouble,
  costOf,
  fit,
  layout,
  lines,
  marks,
  onto,
  sentence,
  silent,
  standingOf,
  svg,
} from '../../src/lib/network';

function node(id: string, own = false): IgpNode {
  const kind = id.startsWith('lan') ? 'network' : 'router';
  return { id, name: null, kind, own, border: false, boundary: false, overloaded: false, cost: 1 };
}

function link(from: string, to: string, cost = 10, bfd: string | null = null): IgpLink {
  return { from, to, cost, interface: bfd && 'core1', bfd };
}

function both(one: string, other: string, cost = 10): IgpLink[] {
  return [link(one, other, cost), link(other, one, cost)];
}

const ids = ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'];
const ring: IgpTopology = {
  protocol: 'ospf',
  area: '0.0.0.0',
  repair: null,
  nodes: ids.map((id, at) => node(id, at === 0)),
  more: 0,
  links: ids.flatMap((id, at) => both(id, ids[(at + 1) % 4] ?? '')),
};

test('both directions of a link, and links beside it, are one line', () => {
  const all = lines([link('b', 'a', 5), link('a', 'b', 10), link('a', 'b', 7), link('b', 'a', 9)]);
  expect(all).toHaveLength(1);
  expect(all[0]).toMatchObject({ one: 'a', other: 'b', there: 7, back: 5, more: 1 });
  expect(costOf({ there: 7, back: 5 })).toBe('7 / 5');
  expect(costOf({ there: 7, back: 7 })).toBe('7');
  expect(costOf({ there: null, back: 0 })).toBe('0');
});

test('of several sessions of a line the one that is down is told', () => {
  const all = lines([link('a', 'b', 1, 'Down'), link('a', 'b', 1, 'Up')]);
  expect(all[0]?.bfd).toBe('Down');
});

const went: IgpChange = {
  protocol: 'ospf',
  area: '0.0.0.0',
  run: 7,
  ago_ms: 1_000,
  links: [
    { from: '1.1.1.1', to: '3.3.3.3', before: 30, after: null },
    { from: '3.3.3.3', to: '1.1.1.1', before: 30, after: null },
  ],
};
const dearer: IgpChange = {
  ...went,
  run: 8,
  ago_ms: 500,
  links: [{ from: '1.1.1.1', to: '2.2.2.2', before: 4, after: 10 }],
};

test('changes are undone from the last one on', () => {
  const cost = (of: IgpTopology) =>
    of.links.find((it) => it.from === '1.1.1.1' && it.to === '2.2.2.2')?.cost;
  expect(before(ring, [went, dearer], 0).links).toEqual(ring.links);
  const one = before(ring, [went, dearer], 1);
  expect([cost(one), one.links.length]).toEqual([4, 8]);
  const two = before(ring, [went, dearer], 2);
  expect([cost(two), two.links.length]).toEqual([4, 10]);
  expect(lines(two.links).find((it) => it.key === '1.1.1.1 3.3.3.3')?.there).toBe(30);
  expect([cost(ring), ring.links.length]).toEqual([10, 8]);
});

test('a router that went is there again before it went', () => {
  const links = [{ from: '1.1.1.1', to: '9.9.9.9', before: 1, after: null }];
  const shown = before(ring, [{ ...went, links }], 1);
  expect(shown.nodes.map((it) => it.id)).toContain('9.9.9.9');
});

test('a change is told in a sentence', () => {
  expect(sentence(went, (id) => id)).toBe('1.1.1.1 – 3.3.3.3 went');
  expect(sentence(dearer, (id) => id)).toBe('1.1.1.1 – 2.2.2.2 costs 10, not 4');
});

test('the shortest path is marked over its equals and its repair', () => {
  const step = (from: string, to: string) => ({ from, to, cost: 10 });
  const found = marks(
    {
      ...{ protocol: 'ospf', area: '0.0.0.0', from: '1.1.1.1', to: '3.3.3.3', cost: 20 },
      path: [step('1.1.1.1', '2.2.2.2'), step('2.2.2.2', '3.3.3.3')],
      equal: [step('1.1.1.1', '2.2.2.2'), step('1.1.1.1', '4.4.4.4')],
      ...{ repaired_by: 'equal', repair: [], tunnel: null },
    },
    went,
  );
  expect(found.get('1.1.1.1 2.2.2.2')).toBe('shortest');
  expect(found.get('1.1.1.1 4.4.4.4')).toBe('equal');
  expect(found.get('1.1.1.1 3.3.3.3')).toBe('gone');
});

test('nodes stand apart, the same each time, and stay where they stood', () => {
  const all = lines(ring.links);
  const places = layout(ring.nodes, all);
  expect(layout(ring.nodes, all)).toEqual(places);
  const points = [...places.values()];
  for (const one of points) {
    for (const other of points) {
      if (one !== other) expect(Math.hypot(one.x - other.x, one.y - other.y)).toBeGreaterThan(60);
    }
  }
  expect(layout(ring.nodes, all, places)).toEqual(places);
  const grown = [...ring.nodes, node('5.5.5.5')];
  const pinned = new Set(['2.2.2.2']);
  expect(layout(grown, all, places, pinned).get('2.2.2.2')).toEqual(places.get('2.2.2.2'));
});

test('a picture of a thousand nodes is made within some seconds', () => {
  const nodes = Array.from({ length: 1_000 }, (_, at) => node(`r${at}`, at === 0));
  const links = nodes.slice(1).flatMap((it, at) => both(it.id, `r${Math.floor(at / 2)}`));
  expect(layout(nodes, lines(links)).size).toBe(1_000);
});

test('the file holds every node and line, and escapes what peers say', () => {
  const places = layout(ring.nodes, lines(ring.links));
  const drawn = ring.nodes.map((it) => ({
    ...it,
    ...(places.get(it.id) ?? { x: 0, y: 0 }),
    label: '<b>',
  }));
  const text = svg(drawn, lines(ring.links), new Map(), 'An "area"');
  expect(text.match(/<circle/g)).toHaveLength(4);
  expect(text.match(/<line/g)).toHaveLength(4);
  expect(text).not.toContain('<b>');
  const by = fit(drawn, 800, 400);
  for (const it of drawn) {
    const { x, y } = onto(by, it);
    expect(x > 0 && x < 800 && y > 0 && y < 400).toBe(true);
    expect(back(by, { x, y }).x).toBeCloseTo(it.x);
  }
});

function neighbour(name: string, state: string, protocol = 'ospf'): IgpNeighbour {
  return {
    ...{ protocol, interface: name, area: '0.0.0.0', address: null, router_id: '192.0.2.9' },
    ...{ name: null, state, state_s: 4, bfd: null, why: null },
  };
}

test('the chip is well only when every neighbour is adjacent, and says who is refused', () => {
  const full = neighbour('core1', 'Full');
  expect(standingOf([])).toEqual({ text: 'no router is heard', isWell: false });
  expect(standingOf([full])).toEqual({ text: '1 neighbour adjacent', isWell: true });
  expect(standingOf([full, neighbour('lan1', '2-Way')]).isWell).toBe(true);
  expect(standingOf([full, neighbour('core2', 'ExStart')])).toEqual({
    text: '1 of 2 neighbours adjacent',
    isWell: false,
  });
  expect(standingOf([full, neighbour('core2', 'refused')])).toEqual({
    text: '1 of 2 neighbours adjacent, 1 refused',
    isWell: false,
  });
});

test('who is not adjacent comes first, and interfaces that hear nobody are named', () => {
  const all = [
    neighbour('core1', 'Full'),
    neighbour('core10', 'refused'),
    neighbour('core2', 'refused'),
    neighbour('core3', 'Up', 'isis'),
  ];
  const rows = byTrouble(all, 'ospf');
  expect(rows.map((row) => row.interface)).toEqual(['core2', 'core10', 'core1']);
  const speaks = (name: string, passive = false) => ({
    ...{ protocol: 'ospf', interface: name, passive, neighbours: 0 },
  });
  const interfaces = [speaks('core1'), speaks('core3'), speaks('lan1', true), speaks('core10')];
  expect(silent(interfaces, rows, 'ospf')).toEqual(['core3']);
});
