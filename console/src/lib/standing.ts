// How a function stands, in a few figures of its field, and what of it does not stand.
import { api, type FunctionRow, type NextHop } from './api';
import { capital, count, duration, octets, relative } from './format';
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

async function reflector({ name }: FunctionRow): Promise<Standing> {
  const peers = await api.bgpPeers(name);
  const down = peers.filter((peer) => peer.state !== 'Established');
  const held = down.filter((peer) => peer.state !== 'shut down');
  const learnt = peers.reduce((sum, peer) => sum + peer.routes_accepted, 0);
  const told = peers.reduce((sum, peer) => sum + peer.routes_out, 0);
  const waiting = peers.reduce((sum, peer) => sum + peer.waiting_octets, 0);
  return {
    facts: [
      {
        what: 'Peers up',
        value: share(peers.length - down.length, peers.length),
        isBad: held.length > 0,
        href: of('peers', { function: name }),
      },
      { what: 'Routes learnt', value: count(learnt), href: of('routes', { function: name }) },
      { what: 'Routes told', value: count(told) },
      { what: 'Waiting to be read', value: octets(waiting) },
    ],
    troubles: held.map((peer) => ({
      name: peer.peer,
      why: `${capital(peer.state)}${peer.why ? `: ${peer.why}` : ''}`,
      href: of('peers', { function: name, peer: peer.peer }),
    })),
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
      { what: 'VRFs', value: count(it.vrfs), href: to('tables') },
      { what: 'Static routes', value: count(it.routes), href: to('tables') },
      { what: 'Bridges', value: count(it.bridges), href: to('bridges') },
      { what: 'Cross-connects', value: count(it.cross_connects), href: to('wires') },
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

const ASKED: Record<string, (row: FunctionRow) => Promise<Standing>> = {
  rr: reflector,
  pe: edge,
  sgc: gateway,
  ssc: border,
  msc: mediaController,
  ipsmgw: messages,
  sas: assurance,
};

/** Asks a function how it stands; null for a kind of which nothing is known. */
export async function standing(row: FunctionRow): Promise<Standing | null> {
  return (await ASKED[row.kind]?.(row)) ?? null;
}
