// How a function stands, in a few figures of its field, and what of it does not stand.
import {
  api,
  type BgpPeer,
  type FunctionRow,
  type IgpNeighbour,
  type LdpNeighbour,
  type NextHop,
} from './api';
import { capital, count, duration, octets, relative } from './format';
import { whyOf } from './kinds';
import { isAdjacent, isRefused, labelOf } from './network';
import { build, type Page } from './route';

export interface Standing {
  facts: { what: string; value: string; isBad?: boolean; href?: string }[];
  /** What should stand and does not, with the reason. */
  troubles: { name: string; why: string; href: string }[];
}

function of(page: Page, query: Record<string, string | undefined> = {}): string {
  return build({ page, query });
}

/** `9 of 12`, or `12` when all do. */
function share(some: number, all: number): string {
  return some === all ? count(all) : `${count(some)} of ${count(all)}`;
}

/** Peers of BGP whose session does not stand, without those that the operator has shut down. */
function unestablished(peers: BgpPeer[], name: string): Standing['troubles'] {
  return peers
    .filter((peer) => peer.state !== 'Established' && peer.state !== 'shut down')
    .map((peer) => ({
      name: peer.peer,
      why: [capital(peer.state), whyOf(peer)].filter(Boolean).join(': '),
      href: of('peers', { function: name, peer: peer.peer }),
    }));
}

async function reflector({ name }: FunctionRow): Promise<Standing> {
  const peers = await api.bgpPeers(name);
  const down = peers.filter((peer) => peer.state !== 'Established');
  const troubles = unestablished(peers, name);
  const learnt = peers.reduce((sum, peer) => sum + peer.routes_accepted, 0);
  const told = peers.reduce((sum, peer) => sum + peer.routes_out, 0);
  const waiting = peers.reduce((sum, peer) => sum + peer.waiting_octets, 0);
  return {
    facts: [
      {
        what: 'Peers up',
        value: share(peers.length - down.length, peers.length),
        isBad: troubles.length > 0,
        href: of('peers', { function: name }),
      },
      { what: 'Routes learnt', value: count(learnt), href: of('routes', { function: name }) },
      { what: 'Routes told', value: count(told) },
      { what: 'Waiting to be read', value: octets(waiting) },
    ],
    troubles,
  };
}

/** Routers that OSPF and IS-IS hear; nothing where neither hears one. */
export function adjacencies(all: IgpNeighbour[], name: string): Standing {
  const rest = all.filter((row) => !isAdjacent(row));
  const href = of('network', { function: name });
  if (!all.length) return { facts: [], troubles: [] };
  return {
    facts: [
      {
        what: 'Adjacent',
        value: share(all.length - rest.length, all.length),
        isBad: rest.length > 0,
        href,
      },
    ],
    troubles: rest.map((row) => {
      const state = isRefused(row) ? 'is refused' : `is ${row.state}`;
      const why = `${state} by ${row.interface}${row.why ? `: ${row.why}` : ''}`;
      return { name: labelOf({ id: row.router_id, name: row.name }), why, href };
    }),
  };
}

/** Sessions of LDP; nothing where it hears nobody. */
export function labels(all: LdpNeighbour[], name: string): Standing {
  const rest = all.filter((row) => row.state !== 'Operational');
  const href = of('metrics', { name: 'ldp_sessions' });
  if (!all.length) return { facts: [], troubles: [] };
  return {
    facts: [
      {
        what: 'LDP sessions',
        value: share(all.length - rest.length, all.length),
        isBad: rest.length > 0,
        href,
      },
    ],
    troubles: rest.map((row) => ({
      name: row.peer,
      why: `LDP ${row.state}${row.interfaces.length ? ` by ${row.interfaces.join(', ')}` : ''}`,
      href: of('edge', { function: name }),
    })),
  };
}

/** Sessions of BGP of an edge. */
export function sessions(peers: BgpPeer[], name: string): Standing {
  const up = peers.filter((peer) => peer.state === 'Established').length;
  const troubles = unestablished(peers, name);
  const learnt = peers.reduce((sum, peer) => sum + peer.routes_accepted, 0);
  if (!peers.length) return { facts: [], troubles };
  const query = { function: name };
  return {
    facts: [
      {
        what: 'BGP',
        value: share(up, peers.length),
        isBad: troubles.length > 0,
        href: of('peers', query),
      },
      { what: 'BGP routes learnt', value: count(learnt), href: of('routes', query) },
    ],
    troubles: troubles.map((it) => ({ ...it, why: `BGP ${it.why}` })),
  };
}

async function edge({ name }: FunctionRow): Promise<Standing> {
  const [it] = await api.peSummary(name);
  if (!it) return { facts: [], troubles: [] };
  const isAway = it.forwarder === 'away';
  const to = (view: string) => of('edge', { function: name, view });
  const troubles = [];
  if (isAway) troubles.push({ name: 'Forwarder', why: 'away, no packet is sent on', href: to('') });
  if (!isAway && it.ports_up < it.ports) {
    const down = it.ports - it.ports_up;
    troubles.push({ name: 'Ports', why: `${down} without link`, href: to('') });
  }
  if (it.refusals) {
    const why = `the forwarder refuses ${count(it.refusals)} of the configuration`;
    troubles.push({ name: 'Refusals', why, href: to('') });
  }
  return {
    facts: [
      {
        what: 'Ports up',
        value: share(it.ports_up, it.ports),
        isBad: it.ports_up < it.ports,
        href: to(''),
      },
      { what: 'Interfaces', value: count(it.interfaces), href: to('') },
      ...[
        { what: 'VRFs', some: it.vrfs, view: 'tables' },
        { what: 'Static routes', some: it.routes, view: 'tables' },
        { what: 'Bridges', some: it.bridges, view: 'bridges' },
        { what: 'Cross-connects', some: it.cross_connects, view: 'wires' },
      ]
        .filter(({ some }) => some > 0)
        .map(({ what, some, view }) => ({ what, value: count(some), href: to(view) })),
    ],
    troubles,
  };
}

async function gateway({ name }: FunctionRow): Promise<Standing> {
  const peers = await api.asps(name);
  const up = peers.filter((peer) => peer.association === 'up');
  const active = peers.filter((peer) => peer.state === 'active');
  const rest = peers.filter((peer) => peer.state !== 'active' && !peer.blocked);
  const href = of('ss7', { function: name });
  return {
    facts: [
      {
        what: 'Associations up',
        value: share(up.length, peers.length),
        isBad: up.length < peers.length,
        href,
      },
      {
        what: 'ASPs active',
        value: share(active.length, peers.length),
        isBad: rest.length > 0,
        href,
      },
    ],
    troubles: rest.map((peer) => ({
      name: peer.name,
      why:
        peer.association === 'up'
          ? `ASP ${peer.state}`
          : `association ${peer.association}${peer.why ? `: ${peer.why}` : ''}`,
      href,
    })),
  };
}

/** A next hop that is down. */
function unanswered(hop: NextHop, now_ms: number, href: string): Standing['troubles'][number] {
  const s = duration(now_ms - hop.since_us / 1000);
  return { name: hop.name, why: `${hop.transport} ${hop.target} has not answered for ${s}`, href };
}

async function border({ name }: FunctionRow): Promise<Standing> {
  const hops = await api.nextHops(name);
  const down = hops.filter((hop) => hop.state === 'down');
  const now_ms = Date.now();
  return {
    facts: [
      {
        what: 'Next hops up',
        value: share(hops.length - down.length, hops.length),
        isBad: down.length > 0,
      },
    ],
    troubles: down.map((hop) => unanswered(hop, now_ms, of('alarms'))),
  };
}

async function messages({ name }: FunctionRow): Promise<Standing> {
  const hops = await api.nextHops(name);
  const down = hops.filter((hop) => hop.state === 'down');
  const href = of('messages', { function: name, view: 'core' });
  const now_ms = Date.now();
  return {
    facts: [
      {
        what: 'Next hops up',
        value: share(hops.length - down.length, hops.length),
        isBad: down.length > 0,
        href,
      },
    ],
    troubles: down.map((hop) => unanswered(hop, now_ms, href)),
  };
}

async function assurance(): Promise<Standing> {
  const it = await api.sasStatus();
  const now_ms = Date.now();
  return {
    facts: [
      { what: 'Kept', value: `${octets(it.bytes)} of ${octets(it.bytes_max)}` },
      { what: 'The oldest', value: it.first_us ? relative(it.first_us, now_ms) : '–' },
      { what: 'Messages', value: count(it.messages) },
      { what: 'Lost', value: count(it.shed), isBad: it.shed > 0 },
    ],
    troubles: it.failing ? [{ name: 'Store', why: it.failing, href: of('alarms') }] : [],
  };
}

async function mediaController({ name }: FunctionRow): Promise<Standing> {
  const it = (await api.media(name))[0];
  if (!it) return { facts: [], troubles: [] };
  const href = of('media');
  const away = it.session_controllers.filter((row) => row.state === 'away');
  const load = it.forwarder_permille / 10;
  const troubles = away.map((row) => ({
    name: row.session_controller,
    why: `the session controller is away, ${count(row.streams)} streams go on`,
    href,
  }));
  if (it.forwarder === 'away') {
    troubles.unshift({ name: 'Forwarder', why: 'it is away: no media pass', href });
  }
  return {
    facts: [
      { what: 'Streams', value: count(it.streams), href },
      { what: 'Load', value: `${load.toFixed(1)} %`, isBad: load >= 90, href },
      {
        what: 'Session controllers',
        value: share(it.session_controllers.length - away.length, it.session_controllers.length),
        isBad: away.length > 0,
        href,
      },
    ],
    troubles,
  };
}

type Question = (row: FunctionRow) => Promise<Standing>;

const ASKED: Record<string, Question[]> = {
  rr: [reflector],
  sgc: [gateway],
  ssc: [border],
  msc: [mediaController],
  ipsmgw: [messages],
  sas: [assurance],
};

/**
 * What to ask a function to know how it stands, one request each at most, in the order in which the
 * answers are told. An edge is asked for peers where it is known to speak BGP.
 */
export function questions({ kind }: FunctionRow, speaksBgp: boolean): Question[] {
  if (kind !== 'pe') return ASKED[kind] ?? [];
  return [
    async ({ name }) => adjacencies(await api.igpNeighbours(name), name),
    async ({ name }) => sessions(speaksBgp ? await api.bgpPeers(name) : [], name),
    async ({ name }) => labels(await api.ldpNeighbours(name), name),
    edge,
  ];
}

/** Answers as one. */
export function together(parts: (Standing | undefined)[]): Standing {
  return {
    facts: parts.flatMap((part) => part?.facts ?? []),
    troubles: parts.flatMap((part) => part?.troubles ?? []),
  };
}
