// What OSPF and IS-IS of the mock's edge see: a network of cities with names in IS-IS, a small area
// of OSPF beside it.

const CITIES = 'ber1 ham1 fra1 muc1 ams1 bru1 par1 lon1 zrh1 mil1 vie1 prg1 waw1 cph1'.split(' ');
/** One, the other, cost there and back. */
const WIRES = [
  ['ber1', 'ham1', 10],
  ['ber1', 'fra1', 20],
  ['ber1', 'prg1', 15],
  ['ber1', 'waw1', 25],
  ['ham1', 'ams1', 15],
  ['ham1', 'cph1', 12],
  ['fra1', 'muc1', 12],
  ['fra1', 'ams1', 18],
  ['fra1', 'bru1', 16],
  ['fra1', 'zrh1', 14, 40],
  ['muc1', 'vie1', 14],
  ['muc1', 'zrh1', 11],
  ['muc1', 'prg1', 13],
  ['ams1', 'bru1', 8],
  ['ams1', 'lon1', 20],
  ['bru1', 'par1', 10],
  ['par1', 'lon1', 18],
  ['par1', 'zrh1', 22],
  ['zrh1', 'mil1', 9],
  ['vie1', 'mil1', 26],
  ['vie1', 'prg1', 12],
  ['vie1', 'waw1', 30],
];
const OWN = 'ber1';
const BFD = { ham1: 'Up', fra1: 'Up', prg1: 'Down' };

const idOf = (name) => {
  const at = String(CITIES.indexOf(name) + 1).padStart(4, '0');
  return `1921.6800.${at}`;
};

function both([one, other, there, back = there]) {
  const own = (from, to) => ({
    interface: from === OWN ? `core-${to.slice(0, 3)}` : null,
    bfd: from === OWN ? (BFD[to] ?? null) : null,
  });
  return [
    { from: idOf(one), to: idOf(other), cost: there, ...own(one, other) },
    { from: idOf(other), to: idOf(one), cost: back, ...own(other, one) },
  ];
}

const LINKS = WIRES.flatMap(both);

/** Costs and the links before each node, from one on; `without` a link's key. */
function spf(links, from, without = '') {
  const cost = new Map([[from, 0]]);
  const by = new Map();
  for (let round = 0; round < 40; round++) {
    for (const link of links) {
      const start = cost.get(link.from);
      if (start === undefined || [link.from, link.to].sort().join() === without) continue;
      const sum = start + link.cost;
      const known = cost.get(link.to) ?? Infinity;
      if (sum < known) {
        cost.set(link.to, sum);
        by.set(link.to, [link]);
      } else if (sum === known && !by.get(link.to)?.includes(link)) {
        by.get(link.to)?.push(link);
      }
    }
  }
  return { cost, by };
}

function walked(by, from, to) {
  const path = [];
  for (let at = to; at !== from && path.length < 40;) {
    const [link] = by.get(at) ?? [];
    if (!link) return [];
    path.unshift(link);
    at = link.from;
  }
  return path;
}

const step = ({ from, to, cost }) => ({ from, to, cost });

function isis() {
  const { cost } = spf(LINKS, idOf(OWN));
  const nodes = CITIES.map((name) => ({
    id: idOf(name),
    name,
    kind: 'router',
    own: name === OWN,
    border: name === 'fra1' || name === 'par1',
    boundary: false,
    overloaded: name === 'waw1',
    cost: cost.get(idOf(name)) ?? null,
  }));
  return { protocol: 'isis', area: 'level-2', repair: 'remote-lfa', nodes, more: 0, links: LINKS };
}

const LAN = 'lan 10.7.0.2';
const AREA = ['10.255.0.1', '10.255.0.2', '10.255.0.3', '10.255.0.4'];

function ospf() {
  const onto = (id, cost, bfd = null) => [
    { from: id, to: LAN, cost, interface: bfd && 'lan7', bfd },
    { from: LAN, to: id, cost: 0, interface: null, bfd: null },
  ];
  const beside = (from, to, cost) => ({ from, to, cost, interface: null, bfd: null });
  const links = [
    ...onto(AREA[0], 10, 'Up'),
    ...onto(AREA[1], 10),
    ...onto(AREA[2], 10),
    beside(AREA[2], AREA[3], 5),
    beside(AREA[3], AREA[2], 5),
  ];
  const { cost } = spf(links, AREA[0]);
  const nodes = [...AREA, LAN].map((id) => ({
    id,
    name: null,
    kind: id === LAN ? 'network' : 'router',
    own: id === AREA[0],
    border: id === AREA[0],
    boundary: id === AREA[3],
    overloaded: false,
    cost: cost.get(id) ?? null,
  }));
  return { protocol: 'ospf', area: '0.0.0.7', repair: null, nodes, more: 0, links };
}

export const topology = () => [isis(), ospf()];

export function path(_mock, query) {
  const of = topology().find((it) => it.area === query.get('area'));
  const [from, to] = [query.get('from'), query.get('to')];
  const { cost, by } = spf(of?.links ?? [], from);
  if (!of || !cost.has(to)) return [];
  const own = walked(by, from, to);
  const equal = new Set(own);
  const left = [to];
  while (left.length) {
    for (const link of by.get(left.pop()) ?? []) {
      if (!equal.has(link) || own.includes(link)) left.push(link.from);
      equal.add(link);
    }
    if (equal.size > 60) break;
  }
  const first = own[0] ? [own[0].from, own[0].to].sort().join() : '';
  const repair = walked(spf(of.links, from, first).by, from, to);
  const tunnel = repair[1]?.to ?? null;
  return [
    {
      protocol: of.protocol,
      area: of.area,
      from,
      to,
      cost: cost.get(to),
      path: own.map(step),
      equal: [...equal].map(step),
      repaired_by: repair.length ? 'remote-lfa' : null,
      repair: repair.map(step),
      tunnel: tunnel === to ? null : tunnel,
    },
  ];
}

export function changes(_mock, query) {
  if (query.get('area') !== 'level-2') return [];
  const link = (one, other, before, after) => [
    { from: idOf(one), to: idOf(other), before, after },
    { from: idOf(other), to: idOf(one), before, after },
  ];
  return [
    [541, 1_864_000, link('mil1', 'par1', 30, null)],
    [542, 1_201_000, link('waw1', 'vie1', null, 30)],
    [543, 312_000, link('fra1', 'bru1', 24, 16)],
    [544, 41_000, link('ham1', 'cph1', null, 12)],
  ].map(([run, ago_ms, links]) => ({ protocol: 'isis', area: 'level-2', run, ago_ms, links }));
}

/** On the LAN two that are adjacent, and one whose hellos are not believed. */
const onLan = () =>
  AREA.slice(1)
    .map((router_id, n) => ({ router_id, address: `10.7.0.${n + 2}`, isRefused: n === 2 }))
    .map(({ router_id, address, isRefused }) => ({
      protocol: 'ospf',
      interface: 'lan7',
      area: '0.0.0.7',
      address,
      router_id,
      name: null,
      state: isRefused ? 'refused' : 'Full',
      role: null,
      priority: 1,
      state_s: isRefused ? 0 : 4_200,
      dead_s: 31,
      restart_s: null,
      bfd: null,
      unacknowledged: 0,
      requested: 0,
      why: isRefused ? 'its hello interval is 1 s, here 10 s' : null,
    }));

export const interfaces = () =>
  [
    ['isis', 'core-ham'],
    ['isis', 'core-fra'],
    ['isis', 'core-prg'],
    ['isis', 'core-waw'],
    ['isis', 'core-vie'],
    ['ospf', 'lan7'],
  ].map(([protocol, name]) => ({
    protocol,
    interface: name,
    passive: false,
    neighbours: name === 'core-vie' ? 0 : 1,
  }));

export const neighbours = () => [...onCore(), ...onLan()];

const onCore = () =>
  ['ham1', 'fra1', 'prg1', 'waw1'].map((name, n) => ({
    protocol: 'isis',
    interface: `core-${name.slice(0, 3)}`,
    area: 'level-2',
    address: `10.31.${n}.2`,
    router_id: idOf(name),
    name,
    state: name === 'prg1' ? 'Initializing' : 'Up',
    role: null,
    priority: 64,
    state_s: 86_000 + n,
    dead_s: 27,
    restart_s: null,
    bfd: BFD[name] ?? null,
    unacknowledged: null,
    requested: null,
    why: null,
  }));

export function database(_mock, query) {
  const of = topology().find((it) => it.area === query.get('area'));
  const isIsis = of?.protocol === 'isis';
  const all = (of?.nodes ?? [])
    .filter((it) => !query.get('router') || it.id === query.get('router'))
    .map((node, n) => ({
      protocol: of.protocol,
      area: of.area,
      kind: isIsis ? 'LSP' : node.kind === 'network' ? 'Network' : 'Router',
      id: isIsis ? `${node.id}.00-00` : node.id.replace('lan ', ''),
      router_id: node.kind === 'network' ? AREA[1] : node.id,
      age_s: isIsis ? null : 120 + n,
      lives_s: isIsis ? 1_080 - n : null,
      sequence: `800000${(16 + n).toString(16)}`,
      octets: 84,
      own: node.own,
      says: of.links
        .filter((link) => link.from === node.id)
        .map((link) => `to ${link.to.replace('lan ', 'network ')} ${link.cost}`)
        .join(', '),
    }));
  const [skip, limit] = ['skip', 'limit'].map((key) => Number(query.get(key) ?? 0));
  const rows = all.slice(skip, skip + (limit || 100));
  return { rows, next: skip + rows.length < all.length ? skip + rows.length : null, total: null };
}

/** Questions of an edge. */
export const ASKED = {
  'igp/topology': topology,
  'igp/path': path,
  'igp/changes': changes,
  'igp/neighbours': neighbours,
  'igp/interfaces': interfaces,
  'igp/database': database,
};
