// What the edge says, in words: ways, rules, drops, traces.
import { api, type PePseudowire, type PeWay } from './api';
import type { PlaneInterface, PlaneNode, PlanePort, TraceStep } from './api';

/** What passed interfaces, by their names; of none while the forwarder is away. */
export async function counted(name: string): Promise<Map<string, PlaneInterface>> {
  const rows = await api.planeInterfaces(name).catch((): PlaneInterface[] => []);
  return new Map(rows.map((row) => [row.interface, row]));
}

/** A way to the next router: `192.0.2.2 by core, labels 200`. */
export function way(via: PeWay): string {
  const by = via.gateway && via.interface ? ` by ${via.interface}` : (via.interface ?? '');
  const labels = via.labels?.length
    ? `, label${via.labels.length > 1 ? 's' : ''} ${via.labels.join(' ')}`
    : '';
  const weight = (via.weight ?? 1) > 1 ? `, weight ${via.weight}` : '';
  return `${via.gateway ?? ''}${by}${labels}${weight}`;
}

export function pseudowire(wire: PePseudowire): string {
  return `label ${wire.label_in} in, ${way(wire.via)}`;
}

const RULE: [key: string, word: string][] = [
  ['protocol', ''],
  ['source', 'from'],
  ['source_ports', 'port'],
  ['destination', 'to'],
  ['destination_ports', 'port'],
  ['tcp_flags', 'flags'],
  ['dscp', 'DSCP'],
  ['fragment', ''],
  ['source_mac', 'from'],
  ['destination_mac', 'to'],
  ['ethertypes', 'EtherType'],
  ['vlans', 'VLAN'],
  ['priority', 'priority'],
];

/** What a rule matches: `tcp from 10.0.0.0/8 to any port 80`. */
export function matches(rule: Record<string, unknown>): string {
  const words = RULE.flatMap(([key, word]) => {
    const value = rule[key];
    if (value === undefined || value === null) return [];
    if (key === 'fragment') return [value ? 'fragments' : 'no fragments'];
    return [[word, Array.isArray(value) ? value.join(', ') : String(value)].join(' ').trim()];
  });
  return words.join(' ') || 'everything';
}

/** A reason for which packets are lost, and where. */
export interface Drop {
  reason: string;
  where: string;
  packets: number;
}

/** What a node ends because it was for the router itself: nothing of it is lost. */
const TAKEN = /^(arp|nd) heard|packet held$|answered$/;

/** Whether the router took the packets itself. */
export function isTaken(reason: string): boolean {
  return TAKEN.test(reason);
}

/** Names of what a port loses: `not_received_queue-full` → queue full. */
const LOST = /^not_(received|sent)_(.+)$/;

/** What nodes drop and ports lose, the most first. */
export function drops(nodes: PlaneNode[], ports: PlanePort[]): Drop[] {
  const of_nodes = nodes.flatMap((node) =>
    Object.entries(node.dropped).map(([reason, packets]) => ({
      reason,
      where: node.node,
      packets,
    })),
  );
  const of_ports = ports.flatMap((port) =>
    Object.entries(port).flatMap(([key, value]) => {
      const found = LOST.exec(key);
      if (!found || typeof value !== 'number') return [];
      const way = found[1] === 'sent' ? 'not sent' : 'not received';
      const reason = `${way}: ${(found[2] ?? '').replaceAll('-', ' ')}`;
      return [{ reason, where: `port ${port.port}`, packets: value }];
    }),
  );
  return [...of_nodes, ...of_ports]
    .filter((drop) => drop.packets > 0)
    .sort((a, b) => b.packets - a.packets);
}

/** Packets that a node has dropped, without those that the router took itself. */
export function droppedBy(node: PlaneNode): number {
  return drops([node], [])
    .filter((drop) => !isTaken(drop.reason))
    .reduce((sum, drop) => sum + drop.packets, 0);
}

/** A reason with the names of protocols as they are written. */
export function spelled(reason: string): string {
  return reason.replace(/\b(arp|nd)\b/g, (name) => name.toUpperCase());
}

/** Packets that a port has lost, in and out. */
export function lost(port: PlanePort): number {
  return drops([], [port]).reduce((sum, drop) => sum + drop.packets, 0);
}

/** The name of a driver: `af_xdp`, or the one key of what says more. */
export function driver(port: PlanePort): string {
  const { driver } = port;
  const name = typeof driver === 'string' ? driver : (Object.keys(driver)[0] ?? '');
  return name.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase();
}

/** What the nodes are for: the colour of a hop in a trace. */
export function stage(node: string): 'in' | 'link' | 'labels' | 'route' | 'filter' | 'out' {
  if (/^(ethernet-input|inject)$/.test(node)) return 'in';
  if (/filter|polic|urpf|protect|sampl/.test(node)) return 'filter';
  if (/mpls|label/.test(node)) return 'labels';
  if (/bridge|cross|arp|nd|glean|l2/.test(node)) return 'link';
  if (/output|drop|scheduler/.test(node)) return 'out';
  return 'route';
}

export interface Trace {
  packet: number;
  steps: TraceStep[];
  /** Why it was dropped; empty when it left. */
  dropped: string;
  /** What it is, in the words of the first node that looked into it. */
  about: string;
}

const DROPPED = /^dropped: (.*)$/;
const PACKET = /→.* (ttl|hop limit) /;

/** The steps of each packet. */
export function traces(steps: TraceStep[]): Trace[] {
  const by = new Map<number, TraceStep[]>();
  for (const step of steps) by.set(step.packet, [...(by.get(step.packet) ?? []), step]);
  return [...by].map(([packet, own]) => {
    const [before, last] = own.slice(-2);
    const dropped = DROPPED.exec(own.at(-1)?.note ?? '')?.[1] ?? '';
    // The node that drops a packet is named once more with its reason: that is one stop.
    const isTwice = dropped !== '' && last !== undefined && before?.node === last.node;
    const steps = isTwice ? [...own.slice(0, -2), last] : own;
    return { packet, steps, dropped, about: own.find((it) => PACKET.test(it.note))?.note ?? '' };
  });
}
