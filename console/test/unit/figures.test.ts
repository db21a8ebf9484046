import { expect, test } from 'vitest';
import type { Live } from '../../src/lib/api';
import { figures, figuresOf, smoothed } from '../../src/lib/figures';

const KINDS: Record<string, string> = {
  ssc: 'ssc_calls_started_total ssc_calls_live ssc_bindings_live ssc_messages_received_total',
  rr: 'rr_peers_established rr_routes rr_updates_received_total rr_paths',
  pe: 'pe_ports_up pe_ports_down pe_routes',
  sgc: 'sgc_msus_received_total sgc_msus_relayed_total sgc_peers_associated sgc_as_active',
  msc: 'msc_streams msc_packets_total msc_poor_quality_total msc_one_way_total',
  ipsmgw: 'ipsmgw_deliveries_ps_total ipsmgw_waiting_messages ipsmgw_flows',
  sas: 'sas_messages_total sas_trails_opened_total',
};

function live(...kinds: string[]): Live {
  const names = kinds.flatMap((kind) => KINDS[kind]!.split(' ')).map((name) => [name, 1]);
  return { rates: Object.fromEntries(names), gauges: Object.fromEntries(names) } as Live;
}

test('a site of one kind shows six figures of it, one of every kind shows one of each', () => {
  expect(figures(live('ssc')).length).toBe(4);
  expect(figures(live('ssc', 'sas')).map((it) => it.name)).toEqual([
    'ssc_calls_started_total',
    'ssc_calls_live',
    'ssc_bindings_live',
    'ssc_messages_received_total',
    'sas_messages_total',
    'sas_trails_opened_total',
  ]);
  const all = figures(live(...Object.keys(KINDS)));
  expect(all.map((it) => it.name)).toEqual(
    Object.keys(KINDS).map((kind) => figuresOf(live(kind), kind)[0]!.name),
  );
  expect(new Set(all.map((it) => it.title)).size).toBe(all.length);
});

test('a rate that is counted every five seconds is shown as its mean over ten', () => {
  const [, packets] = figuresOf(live('msc'), 'msc');
  expect(packets?.over_s).toBe(10);
  const told = [0, 0, 0, 0, 500, 0, 0, 0, 0, 500, 0, 0];
  expect(smoothed(told, 10).slice(-3)).toEqual([100, 100, 100]);
  expect(smoothed([4, 2], 10)).toEqual([4, 3]);
  expect(smoothed([4, 2], 1)).toEqual([4, 2]);
});

test('an edge shows no figures of what it has not, and a 0 of what does not stand', () => {
  const edge = { pe_ports_up: 2, pe_ports_down: 0, pe_routes: 0, ldp_sessions: 0 };
  const names = (gauges: Record<string, number>) =>
    figuresOf({ rates: {}, gauges } as unknown as Live, 'pe').map((it) => it.name);
  expect(names(edge)).toEqual(['pe_ports_up']);
  const down = { ...edge, pe_bgp_peers_established: 0, pe_bgp_peers_down: 1 };
  expect(names({ ...down, igp_adjacencies: 0, igp_neighbours: 1 })).toEqual([
    'pe_ports_up',
    'igp_adjacencies',
    'pe_bgp_peers_established',
    'pe_bgp_peers_down',
  ]);
});
