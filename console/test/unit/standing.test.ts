import { expect, test } from 'vitest';
import type { BgpPeer, FunctionRow, IgpNeighbour, LdpNeighbour } from '../../src/lib/api';
import { bgpNames, speakers, whyOf } from '../../src/lib/kinds';
import { entries } from '../../src/lib/pages';
import { adjacencies, labels, sessions, together } from '../../src/lib/standing';

const refused = {
  ...{ protocol: 'ospf', interface: 'core5', router_id: '192.0.2.6', name: null },
  ...{ state: 'refused', why: 'its hello interval is 2 s, here 1 s' },
} as IgpNeighbour;
const full = { ...refused, interface: 'core1', state: 'Full', why: null };

test('an edge says how many neighbours are adjacent, and why others are not', () => {
  const found = adjacencies([full, full, refused], 'pe1');
  expect(found.facts).toMatchObject([{ what: 'Adjacent', value: '2 of 3', isBad: true }]);
  expect(found.troubles).toEqual([
    {
      name: '192.0.2.6',
      why: 'is refused by core5: its hello interval is 2 s, here 1 s',
      href: '#/network?function=pe1',
    },
  ]);
  expect(adjacencies([], 'pe1')).toEqual({ facts: [], troubles: [] });
});

test('sessions of BGP and LDP are told where there are some', () => {
  const peer = (name: string, state: string, why: string | null = null) =>
    ({ peer: name, state, why, routes_accepted: 7 }) as BgpPeer;
  const silent = { state: 'Connect', why: null, last_seen_us: null };
  expect([whyOf(silent), whyOf({ ...silent, last_seen_us: 9 })]).toEqual([
    'it has not answered yet',
    '',
  ]);
  const peers = [peer('west', 'Established'), peer('transit', 'Connect', 'it does not answer')];
  const found = sessions([...peers, peer('old', 'shut down')], 'pe1');
  expect(found.facts).toMatchObject([
    { what: 'BGP', value: '1 of 3', isBad: true },
    { what: 'BGP routes learnt', value: '21' },
  ]);
  expect(found.troubles).toEqual([
    {
      name: 'transit',
      why: 'BGP Connect: it does not answer',
      href: '#/peers?function=pe1&peer=transit',
    },
  ]);
  const ldp = { peer: '192.0.2.2:0', state: 'Operational', interfaces: ['core1'] } as LdpNeighbour;
  expect(labels([ldp], 'pe1').facts).toMatchObject([{ value: '1', isBad: false }]);
  const opening = labels([ldp, { ...ldp, state: 'OpenSent' }], 'pe1');
  expect([opening.facts[0]?.value, opening.troubles[0]?.why]).toEqual([
    '1 of 2',
    'LDP OpenSent by core1',
  ]);
  const all = together([found, undefined, sessions([], 'pe1'), labels([], 'pe1')]);
  expect(all).toEqual(found);
});

test('edges that speak BGP have its pages, others have not', () => {
  const series = (of: string, name: string, ...values: (number | null)[]) => {
    return { function: of, name, kind: 'gauge', values };
  };
  const speaking = speakers({
    ...{ step_s: 1, end_s: 9 },
    series: [
      series('pe1', 'pe_bgp_peers_established', 0, 0),
      series('pe1', 'pe_bgp_peers_down', null, 1),
      series('pe2', 'pe_bgp_routes', 2, 2),
      series('pe3', 'pe_bgp_peers_down', 0, 0),
      series('pe3', 'pe_routes', 8, 8),
    ],
  });
  expect(speaking).toEqual(['pe1', 'pe2']);
  const rows = ['pe3', 'pe2', 'pe1'].map((name) => ({ name, kind: 'pe' }) as FunctionRow);
  const rr = { name: 'rr1', kind: 'rr' } as FunctionRow;
  expect(bgpNames([rr, ...rows], speaking)).toEqual(['rr1', 'pe2', 'pe1']);
  const pages = (kinds: string[]) => entries(new Set(kinds)).map((entry) => entry.page);
  expect(pages(['pe'])).not.toContain('peers');
  expect(pages(['pe', 'bgp'])).toEqual(expect.arrayContaining(['peers', 'routes', 'network']));
});
