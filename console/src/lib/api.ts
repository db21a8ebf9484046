// The shapes of the HTTP API and the calls that fetch them: the only file that knows its paths.

export type FunctionState = 'starting' | 'running' | 'draining' | 'failed';
export type Severity = 'critical' | 'major' | 'minor' | 'warning';

/** What a token may do; each role may what those before it may. */
export type Role = 'monitor' | 'operator' | 'administrator';

/** Whose token the session was opened with. */
export interface Holder {
  name: string;
  role: Role;
}

/** What the site leaves open to others, with its place in the site file. */
export interface Exposure {
  line: number;
  path: string;
  what: string;
  hint: string;
}

export interface PortRow {
  name: string;
  transport: string;
  address: string;
}

export interface FunctionRow {
  name: string;
  kind: string;
  state: FunctionState;
  shards: number;
  uptime_s: number;
  ports: PortRow[];
}

export interface Site {
  name: string;
  version: string;
  started_at_us: number;
  /** Whether it finishes what runs, takes nothing new, and then ends. */
  draining: boolean;
  functions: FunctionRow[];
}

export interface Counter {
  function: string;
  shard: number;
  name: string;
  labels?: Record<string, string>;
  kind: string;
  help: string;
  value: number;
}

export interface Series {
  function: string;
  name: string;
  kind: string;
  values: (number | null)[];
}

export interface History {
  step_s: number;
  end_s: number;
  series: Series[];
}

export interface Live {
  at_us: number;
  rates: Record<string, number>;
  gauges: Record<string, number>;
  alarms: Record<Severity, number>;
  functions: { name: string; kind: string; state: FunctionState }[];
}

export interface Alarm {
  id: number | string;
  severity: Severity;
  function: string;
  name: string;
  subject: string;
  text: string;
  probable_cause: string;
  raised_at_us: number;
  cleared_at_us: number | null;
  count: number;
}

export interface NextHop {
  name: string;
  realm: string;
  target: string;
  transport: string;
  state: 'up' | 'down';
  since_us: number;
  failures: number;
}

export interface Registration {
  aor: string;
  contact: string;
  realm: string;
  source: string;
  transport: string;
  expires_at_us: number;
  core_expires_at_us: number;
  registered_at_us: number;
  user_agent: string;
  aliases: string[];
}

/** A security agreement with a phone of IMS and its associations; it has no keys. */
export interface SecurityAgreement {
  impi: string;
  realm: string;
  state: string;
  ue: string;
  outside: string | null;
  algorithms: string | null;
  ue_ports: number[] | null;
  own_ports: number[] | null;
  spi_in: number[];
  spi_out: number[];
  packets_in: number;
  packets_out: number;
  replayed: number;
  forged: number;
  expires_at_us: number;
}

/** Why a registration of IMS failed. */
export interface Explanation {
  impi: string;
  source: string;
  ago_s: number;
  why: string;
}

/** A subscription to what becomes of registrations at the core. */
export interface RegEvent {
  identity: string;
  realm: string;
  state: string;
  core: string;
  version: number | null;
  refused: number | null;
  failures: number;
  expires_at_us: number | null;
  due_at_us: number;
}

/** A peer of BGP: of a route reflector, or of an edge that speaks it. */
export interface BgpPeer {
  peer: string;
  address: string;
  asn: number | null;
  identifier: string | null;
  kind: string;
  group: string | null;
  /** The routing table of a provider edge that it is a customer of. */
  vrf: string | null;
  dynamic: boolean;
  description: string | null;
  state: string;
  since_us: number;
  last_seen_us: number | null;
  families: string[];
  routes_in: number;
  routes_accepted: number;
  routes_out: number;
  messages_in: number;
  messages_out: number;
  waiting_octets: number;
  flaps: number;
  why: string | null;
}

/** What an OPEN says. */
export interface BgpOffer {
  asn: number;
  identifier: string;
  hold_time_s: number;
  families: string[];
  four_octet_as: boolean;
  route_refresh: boolean;
  enhanced_refresh: boolean;
  extended_message: boolean;
  add_path_send: string[];
  add_path_receive: string[];
  role: string | null;
  graceful_restart: { time_s: number; families: string[] } | null;
}

interface Ending {
  at_us: number;
  text: string;
}

/** Everything about a peer. */
export interface BgpPeerDetail extends BgpPeer {
  offered_here: BgpOffer;
  offered_there: BgpOffer | null;
  agreed: { families: string[]; hold_time_s: number; keepalive_s: number } | null;
  connections: { local: string; remote: string; established: boolean }[];
  last_error: Ending | null;
  last_offence: Ending | null;
  limits: { family: string; routes: number; warn: number | null; max: number | null }[];
  import: string | string[] | null;
  export: string | string[] | null;
  password: boolean;
  ttl_security_hops: number | null;
  received: Record<string, number>;
  sent: Record<string, number>;
  established: number;
  hold_expired: number;
  offences_tolerated: number;
  routes_withdrawn: number;
  routes_treated_as_withdrawn: number;
  routes_looped: number;
  routes_refused: number;
  next_hops_foreign: number;
  next_hops_excess: number;
}

export interface BgpFamily {
  family: string;
  routes: number;
  paths: number;
}

/** A page of a list: where the next one begins, and of how many rows, where that is known. */
/** How OSPF or IS-IS stands. */
export interface IgpSummary {
  protocol: string;
  state: string;
  router_id: string;
  areas: number;
  neighbours: number;
  adjacencies: number;
  lsas: number;
  routes: number;
  bfd_up: number;
  bfd_sessions: number;
}

export interface IgpNode {
  id: string;
  name: string | null;
  kind: string;
  own: boolean;
  border: boolean;
  boundary: boolean;
  overloaded: boolean;
  /** From this router; null where there is no way. */
  cost: number | null;
}

/** One direction. */
export interface IgpLink {
  from: string;
  to: string;
  cost: number;
  interface: string | null;
  bfd: string | null;
}

export interface IgpTopology {
  protocol: string;
  area: string;
  repair: string | null;
  nodes: IgpNode[];
  more: number;
  links: IgpLink[];
}

export interface IgpChange {
  protocol: string;
  area: string;
  run: number;
  ago_ms: number;
  links: { from: string; to: string; before: number | null; after: number | null }[];
}

export interface IgpStep {
  from: string;
  to: string;
  cost: number;
}

export interface IgpPath {
  protocol: string;
  area: string;
  from: string;
  to: string;
  cost: number;
  path: IgpStep[];
  equal: IgpStep[];
  repaired_by: string | null;
  repair: IgpStep[];
  tunnel: string | null;
}

export interface IgpNeighbour {
  protocol: string;
  interface: string;
  area: string;
  address: string | null;
  router_id: string;
  name: string | null;
  state: string;
  state_s: number;
  bfd: string | null;
  why: string | null;
}

/** An interface that speaks OSPF or IS-IS. */
export interface IgpInterface {
  protocol: string;
  interface: string;
  passive: boolean;
  neighbours: number;
}

export interface LdpNeighbour {
  peer: string;
  interfaces: string[];
  state: string;
}

export interface IgpLsa {
  protocol: string;
  area: string | null;
  kind: string;
  id: string;
  router_id: string;
  age_s: number | null;
  lives_s: number | null;
  sequence: string;
  octets: number | null;
  own: boolean;
  says: string;
}

export interface Rows<T> {
  rows: T[];
  next: number | null;
  total?: number | undefined;
}

/** A route with its best path. */
export interface BgpRoute extends BgpPath {
  paths: number;
}

/** A path to a prefix. */
export interface BgpPath {
  route: string;
  family: string;
  peer: string;
  stale: boolean;
  changed: boolean;
  originator: string | null;
  clusters: string[] | null;
  aigp: number | null;
  attributes: string[];
  path_id: number;
  best: boolean;
  refused: boolean;
  loses_by: string | null;
  next_hop: string | null;
  local_pref: number | null;
  med: number | null;
  as_path: string | null;
  origin: string | null;
  communities: string[];
  validation: string | null;
}

/** How a router stands. */
export interface PeSummary {
  forwarder: 'controlled' | 'away';
  ports: number;
  ports_up: number;
  interfaces: number;
  vrfs: number;
  cross_connects: number;
  bridges: number;
  routes: number;
  refusals: number;
}

/** A port of the forwarder; why packets are lost stands in `not_received_…` and `not_sent_…`. */
export interface PlanePort {
  port: string;
  driver: string | Record<string, unknown>;
  workers: number;
  up: boolean;
  mac: string | null;
  mtu: number | null;
  received?: number;
  received_octets?: number;
  sent?: number;
  sent_octets?: number;
  [lost: string]: unknown;
}

export interface PlaneInterface {
  interface: string;
  received: number;
  received_octets: number;
  sent: number;
  sent_octets: number;
}

export interface PeInterface {
  name: string;
  port: string | null;
  vlan: number | null;
  inner_vlan: number | null;
  kind: 'routed' | 'routed-side' | 'bridge' | 'cross-connect';
  vrf: string | null;
  bridge: string | null;
  cross_connect: string | null;
  addresses: string[];
  mpls: boolean;
  filter_in: string[];
  filter_out: string[];
}

export interface PlaneNeighbour {
  interface: string;
  address: string;
  mac: string | null;
  state: string;
}

export interface PeVrf {
  vrf: string;
  label: number | null;
  interfaces: string[];
  routes: number;
}

export interface PeWay {
  gateway?: string | null;
  interface?: string | null;
  labels?: number[];
  weight?: number;
}

export interface PeRoute {
  vrf: string;
  prefix: string;
  /// `connected`, `static`, `file`, or the protocol that it was learnt by.
  origin: string;
  holds: boolean;
  via: PeWay[];
  backup?: PeWay | null;
  discard?: string | null;
}

export interface PePseudowire {
  label_in: number;
  via: PeWay;
  backup: PeWay | null;
  control_word: boolean;
  flow_label: boolean;
}

export interface PeBridge {
  bridge: string;
  interfaces: string[];
  pseudowires: PePseudowire[];
  routed_side: string | null;
  macs_max: number;
  ageing_s: number;
  learn: boolean;
  flood_unknown: boolean;
}

export interface PlaneMac {
  bridge: string;
  mac: string;
  state: 'learnt' | 'static' | 'frozen';
  interface?: string;
  pseudowire?: string;
  idle_s?: number;
}

/** What happened to a MAC address. */
export interface PeEvent {
  seconds_ago: number;
  bridge: string;
  mac: string;
  event: string;
  from: string | null;
  at: string | null;
}

export interface PeCrossConnect {
  name: string;
  interface: string;
  to: string | null;
  pseudowire: PePseudowire | null;
}

export interface PeFilter {
  filter: string;
  family: 'ipv4' | 'ipv6' | 'ethernet';
  rules: Record<string, unknown>[];
  rules_total: number;
  filters_in: string[];
  filters_out: string[];
}

/** What a rule has counted; `rule` is null for what no rule matched. */
export interface PlaneHits {
  filter: string;
  rule: number | null;
  packets: number;
  octets: number;
}

export interface PlaneNode {
  node: string;
  packets: number;
  packets_a_vector: number;
  clocks_a_packet: number;
  dropped: Record<string, number>;
  next: string[];
}

export interface TraceStep {
  packet: number;
  node: string;
  note: string;
}

/** A peer of a signalling gateway. */
export interface Asp {
  name: string;
  role: string;
  transport: string;
  address: string;
  association: 'up' | 'opening' | 'down';
  since_us: number;
  why: string | null;
  state: 'active' | 'inactive' | 'down';
  asp_identifier: number | null;
  blocked: boolean;
  congestion: number;
  active_for: string[];
}

/** An Application Server. */
export interface As {
  name: string;
  routing_context: number | null;
  network: string | null;
  point_codes: string[];
  served_by: string;
  state: string;
  mode: string | null;
  waiting: number;
  asps: string[];
  registered: boolean;
}

export interface Ss7Route {
  point_code: string;
  network: string | null;
  service_indicators: number[];
  originating: string[];
  to: string;
  state: string;
}

export interface Ss7Destination {
  point_code: string;
  network: string | null;
  told_by: string;
  state: string;
  congestion: number;
}

/** A subsystem of SCCP of a gateway. */
export interface Subsystem {
  name: string;
  number: number;
  point_codes: string[];
  user: string;
  state: 'allowed' | 'prohibited';
  why: string;
}

/** A node elsewhere, or a subsystem of it, that is not as it should be. */
export interface RemoteNode {
  point_code: string;
  subsystem: number | null;
  state: string;
  why: string;
}

/** The dialogues of TCAP of a gateway. */
export interface TcapDialogues {
  dialogues: number;
  dialogues_max: number;
  begun_here: number;
  begun_there: number;
  aborts_in: number;
  aborts_out: number;
  rejected: number;
  cancelled: number;
  idle: number;
  shed: number;
}

/** A subscriber whose terminal takes short messages. */
export interface SmsRegistration {
  number: string;
  identity: string;
  s_cscf: string;
  takes: 'sms' | 'text';
  contacts: string[];
  expires_at_us: number;
}

/** A short message that waits at the gateway's own service centre. */
export interface PendingMessage {
  id: number;
  to: string;
  from: string;
  kind: 'message' | 'status report';
  octets: number;
  received_at_us: number;
  expires_at_us: number;
  /** Failures in a row of its receiver. */
  failures: number;
  /** When its receiver is tried next; null while one of its messages is under way. */
  due_at_us: number | null;
  why: string;
  /** Its trail in the service assurance. */
  trail: string;
}

/** Rows that are kept over a restart, and their journal. */
export interface SmsStore {
  journal: string | null;
  state: string;
  rows: number;
  octets: number;
  unsynced_octets: number;
  unread_octets: number;
  trouble: string | null;
}

/** A node of a cluster of signalling gateways. */
export interface ClusterNode {
  node: number;
  address: string;
  state: 'this node' | 'heard' | 'silent';
  draining: boolean;
  weight: number;
  serving: number;
  dialogues: number;
  /** For how long it is heard, in microseconds. */
  heard_us: number | null;
  differs: boolean;
  version: number;
}

/** A partition of its dialogues. */
export interface Partition {
  partition: number;
  active: number | null;
  standbys: number[];
  first: number | null;
  epoch: number;
  here: boolean;
  moving: boolean;
  lag: number;
  lag_octets: number;
  dialogues: number;
  kept: number;
  kept_octets: number;
}

/** Whether one node hears another one, as it says. */
export interface ClusterLink {
  from: number;
  to: number;
  up: boolean;
  known: boolean;
}

/** An application on TCAP. */
export interface Application {
  name: string;
  subsystem: number;
  state: 'available' | 'no instance';
  instances: string[];
  dialogues: number;
  begun_there: number;
  begun_here: number;
  resumed: number;
  lost: number;
  shed: number;
  malformed: number;
  listens: string[];
}

/** An instance of an application. */
export interface Instance {
  application: string;
  name: string;
  group: string;
  state: string;
  dialogues: number;
  waiting_octets: number;
}

/** A rule for global titles. */
export interface Ss7Rule {
  name: string;
  of: 'called' | 'calling';
  digits: string;
  title: string;
  change: string;
  choice: 'backup' | 'share';
  to: string[];
}

/** Where a global title goes, and by which rules. */
export interface Translated {
  title: string;
  of: 'called' | 'calling';
  verdict: 'translated' | 'returned' | 'changed' | 'unchanged';
  cause: string | null;
  hint: string | null;
  rule: string | null;
  to: string | null;
  subsystem: number | null;
  routing: string | null;
  becomes: string | null;
  targets: {
    point_code: string;
    subsystem: number | null;
    routing: string;
    weight: number;
    state: string;
    chosen: boolean;
  }[];
  rules: { name: string; digits: string; holds: boolean; why: string }[];
}

export interface Association {
  association: string;
  name: string | null;
  state: string;
  port: number;
  peer: string | null;
  peer_port: number;
  paths: number;
  paths_active: number;
  streams_out: number;
  streams_in: number;
  queued_bytes: number;
  unacknowledged_bytes: number;
  errors: number;
}

export interface SctpPath {
  association: string;
  name: string | null;
  address: string;
  state: string;
  primary: boolean;
  srtt_ms: number | null;
  rto_ms: number;
  cwnd: number;
  flight: number;
  errors: number;
  pmtu: number;
}

export interface Trail {
  id: string;
  kind: string;
  started_at_us: number;
  ended_at_us: number | null;
  from: string;
  to: string;
  method: string;
  /** Digits of whom a dialogue is about. */
  subscriber: string | null;
  /** Why a dialogue failed. */
  cause: string | null;
  call_ids: string[];
  hosts: string[];
  status: number | null;
  outcome: string;
  duration_ms: number | null;
  post_dial_delay_ms: number | null;
  messages: number;
  retransmissions: number;
  media: TrailMedia | null;
}

/** What was measured of a stream; null is not known. */
export interface MediaFigures {
  packets: number | null;
  lost: number | null;
  loss_permille: number | null;
  jitter_us: number | null;
  round_trip_us: number | null;
  r_tenths: number | null;
  mos_hundredths: number | null;
}

/** The worst of all streams of a trail. */
export interface TrailMedia {
  streams: number;
  codecs: string[];
  protected: boolean | null;
  mos_hundredths: number | null;
  mos_min_hundredths: number | null;
  loss_permille: number | null;
  jitter_us: number | null;
  one_way: boolean;
  timed_out: boolean;
  unprotected: number;
}

/** A report: what was measured in the time before `at_us`. */
export interface StreamPoint extends MediaFigures {
  at_us: number;
  duration_ms: number;
}

export interface StreamMark {
  at_us: number;
  name: string;
  text: string;
  digit: string | null;
}

/** A stream of a trail in one direction. */
export interface TrailStream {
  /** The end that sends it. */
  leg: 'a' | 'b' | null;
  line: number;
  /** The host that told what it heard; null: what a media controller counted. */
  heard_by: string | null;
  ssrc: string | null;
  terms: {
    kind: string | null;
    codec: string | null;
    suite: string | null;
    local: string | null;
    remote: string | null;
    latched: string | null;
    direction: string | null;
    controller: string | null;
  };
  began_at_us: number;
  ended_at_us: number | null;
  figures: MediaFigures;
  mos_min_hundredths: number | null;
  one_way: boolean;
  timed_out: boolean;
  unprotected: number;
  ended_by: string | null;
  points: StreamPoint[];
  marks: StreamMark[];
}

/** Ports of a group of addresses. */
export interface MediaLease {
  group: string;
  family: string;
  pairs: number;
  leased: number;
  in_use: number;
}

/** How a media controller stands. */
export interface MediaController {
  forwarder: 'controlled' | 'away';
  /** Of a pair; null: it stands alone. */
  role: 'active' | 'standby' | 'waiting' | null;
  streams: number;
  ng_calls: number;
  packets_per_s: number;
  forwarder_permille: number;
  transcoder: 'connected' | 'away' | 'none';
  transcoder_permille: number;
  transcoded: number;
  codecs: string[];
  leases: MediaLease[];
  session_controllers: {
    session_controller: string;
    state: 'connected' | 'away' | 'standby';
    address: string | null;
    streams: number;
  }[];
  refusals: number;
}

/** An end of a stream of a media controller. */
export interface MediaEnd {
  leg: 'a' | 'b';
  local: string | null;
  remote: string | null;
  latched: string | null;
  codec: string | null;
  suite: string;
  direction: string;
  packets: number;
  lost: number;
  dropped: number;
  jitter_us: number;
  mos: number | null;
  state: 'speaks' | 'silent' | 'timed-out' | 'quiet';
}

/** A stream that a media controller has now. */
export interface MediaStream {
  call: string;
  call_id: string | null;
  line: number;
  session_controller: string;
  kind: string;
  ends: MediaEnd[];
}

export interface Host {
  address: string;
  label: string;
  side: 'access' | 'core' | null;
  self: boolean;
}

export interface TrailMessage {
  n: number;
  at_us: number;
  from: number;
  to: number;
  transport: string;
  /** What its agent said of it: inside of ESP its associations; else empty. */
  tags: string;
  call_id: string;
  leg: number;
  /** Method of a SIP request, name of an M3UA or BGP message. */
  method: string | null;
  status: number | null;
  reason: string | null;
  cseq: number | null;
  cseq_method: string | null;
  retransmission_of: number | null;
  pair: number | null;
  has_sdp: boolean;
  /** Of a dialogue: an error, a reject, an abort, or what came back. */
  failed: boolean;
  /** The components of a message of a dialogue. */
  components: unknown[];
  text: string;
}

export interface TrailEvent {
  at_us: number;
  name: string;
  text: string;
  leg: number | null;
  host: number | null;
}

export interface TrailDetail {
  trail: Trail;
  hosts: Host[];
  messages: TrailMessage[];
  events: TrailEvent[];
  streams: TrailStream[];
  /** Messages that are not shown: deleted by age or size, or too many. */
  left_out: number;
}

export interface TrailPage {
  trails: Trail[];
  next: string | null;
  took_us: number;
  total_known: number | null;
}

/** What the SAS keeps; times in µs, sizes in octets. */
export interface SasStatus {
  name: string;
  live: number;
  messages: number;
  shed: number;
  bytes: number;
  bytes_max: number;
  first_us: number | null;
  failing: string | null;
}

export interface ConfigText {
  text: string;
  revision: number | string;
  /** Seconds until an unconfirmed commit is undone, when one is waiting. */
  confirm_within_s?: number | null;
}

export interface ConfigIssue {
  line: number;
  column: number;
  path: string;
  what: string;
  hint: string;
}

export interface ConfigRevision {
  revision: number;
  at_us: number;
  by: string | null;
  comment: string | null;
  /** What became of it: `active`, `pending`, `confirmed`, `rolled-back`, `not-confirmed`. */
  state: string;
  note: string;
  running: boolean;
}

/** The largest capture the server reads, octets. */
export const CAPTURE_BYTES_MAX = 32 * 1024 * 1024;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: unknown[] = [],
  ) {
    super(message);
  }
}

/** Called when the server no longer knows the session. */
let signedOut: () => void = () => undefined;

export function onSignedOut(handler: () => void): void {
  signedOut = handler;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const ROOT = '/api/v1';

async function refusal(response: Response): Promise<ApiError> {
  const fallback = `${response.status} ${response.statusText}`.trim();
  try {
    const { error } = (await response.json()) as {
      error?: { code?: string; message?: string; details?: unknown[] };
    };
    return new ApiError(
      response.status,
      error?.code ?? 'unknown',
      error?.message ?? fallback,
      error?.details ?? [],
    );
  } catch {
    return new ApiError(response.status, 'unknown', fallback);
  }
}

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(ROOT + path, { credentials: 'same-origin', ...init });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new ApiError(0, 'unreachable', 'The site does not answer.');
  }
  if (response.ok) return response;
  const error = await refusal(response);
  if (error.status === 401 && path !== '/session') signedOut();
  throw error;
}

async function json<T>(path: string, init: RequestInit = {}): Promise<T> {
  return (await (await call(path, init)).json()) as T;
}

function post(body: unknown): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** Query text from the parameters that are set. */
function search(parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text && `?${text}`;
}

const part = encodeURIComponent;

/** Asks a function. */
function ask<T>(
  name: string,
  about: string,
  parameters: Record<string, string | number | undefined> = {},
): Promise<T> {
  return json<T>(`/functions/${part(name)}/${about}${search(parameters)}`);
}

type Query = Record<string, string | number | undefined>;

export const api = {
  signIn: (token: string) => call('/session', post({ token })),
  signOut: () => call('/session', { method: 'DELETE' }),
  holder: () => json<Holder>('/session'),
  site: () => json<Site>('/site'),
  counters: () => json<Counter[]>('/counters'),
  history: (names: string[], since_s: number) =>
    json<History>(`/metrics/history${search({ name: names.join(','), since_s })}`),
  alarms: (history: boolean) => json<Alarm[]>(`/alarms${history ? '?history=true' : ''}`),
  nextHops: (name: string) => ask<NextHop[]>(name, 'next-hops'),
  registrations: (name: string) => ask<Registration[]>(name, 'registrations'),
  /** `impi`: those of one phone alone. */
  agreements: (name: string, impi?: string) => ask<SecurityAgreement[]>(name, 'ipsec', { impi }),
  imsFailures: (name: string) => ask<Explanation[]>(name, 'ims/explain'),
  regEvents: (name: string) => ask<RegEvent[]>(name, 'ims/reg-events'),

  bgpPeers: (name: string) => ask<BgpPeer[]>(name, 'bgp/summary'),
  /** Of a peer that is away only what is remembered of it. */
  bgpPeer: (name: string, peer: string) =>
    ask<(BgpPeerDetail | BgpPeer)[]>(name, 'bgp/peer', { peer }),
  bgpFamilies: (name: string) => ask<BgpFamily[]>(name, 'bgp/families'),
  bgpRoutes: (name: string, query: Query) => ask<Rows<BgpRoute>>(name, 'bgp/routes', query),
  bgpRoute: (name: string, query: Query) => ask<BgpPath[]>(name, 'bgp/route', query),

  peSummary: (name: string) => ask<PeSummary[]>(name, 'pe/summary'),
  peInterfaces: (name: string, query: Query) =>
    ask<Rows<PeInterface>>(name, 'pe/interfaces', query),
  peVrfs: (name: string, query: Query) => ask<Rows<PeVrf>>(name, 'pe/vrfs', query),
  peRoutes: (name: string, query: Query) => ask<Rows<PeRoute>>(name, 'pe/routes', query),
  peBridges: (name: string, query: Query) => ask<Rows<PeBridge>>(name, 'pe/bridges', query),
  peCrossConnects: (name: string, query: Query) =>
    ask<Rows<PeCrossConnect>>(name, 'pe/cross-connects', query),
  peFilters: (name: string, query: Query) => ask<Rows<PeFilter>>(name, 'pe/filters', query),
  peEvents: (name: string) => ask<PeEvent[]>(name, 'pe/events'),
  igpSummary: (name: string) => ask<IgpSummary[]>(name, 'igp/summary'),
  igpNeighbours: (name: string) => ask<IgpNeighbour[]>(name, 'igp/neighbours'),
  igpInterfaces: (name: string) => ask<IgpInterface[]>(name, 'igp/interfaces'),
  ldpNeighbours: (name: string) => ask<LdpNeighbour[]>(name, 'ldp/neighbours'),
  igpTopology: (name: string) => ask<IgpTopology[]>(name, 'igp/topology'),
  igpChanges: (name: string, query: Query) => ask<IgpChange[]>(name, 'igp/changes', query),
  igpPath: (name: string, query: Query) => ask<IgpPath[]>(name, 'igp/path', query),
  igpDatabase: (name: string, query: Query) => ask<Rows<IgpLsa>>(name, 'igp/database', query),
  planePorts: (name: string) => ask<PlanePort[]>(name, 'plane/ports'),
  planeInterfaces: (name: string) => ask<PlaneInterface[]>(name, 'plane/interfaces'),
  planeNeighbours: (name: string) => ask<PlaneNeighbour[]>(name, 'plane/neighbours'),
  planeMacs: (name: string, query: Query) => ask<Rows<PlaneMac>>(name, 'plane/macs', query),
  planeHits: (name: string, query: Query) => ask<Rows<PlaneHits>>(name, 'plane/filters', query),
  planeGraph: (name: string) => ask<PlaneNode[]>(name, 'plane/graph'),
  planeTraced: (name: string) => ask<TraceStep[]>(name, 'plane/traced'),
  planeTrace: (name: string, how: Record<string, string>) =>
    call(`/functions/${part(name)}/plane/trace`, post(how)),

  asps: (name: string) => ask<Asp[]>(name, 'm3ua/asps'),
  servers: (name: string) => ask<As[]>(name, 'm3ua/servers'),
  ss7Routes: (name: string) => ask<Ss7Route[]>(name, 'm3ua/routes'),
  destinations: (name: string) => ask<Ss7Destination[]>(name, 'm3ua/destinations'),
  associations: (name: string) => ask<Association[]>(name, 'sctp/associations'),
  subsystems: (name: string) => ask<Subsystem[]>(name, 'sccp/subsystems'),
  remotes: (name: string) => ask<RemoteNode[]>(name, 'sccp/remotes'),
  tcapDialogues: (name: string) => ask<TcapDialogues[]>(name, 'tcap/dialogues'),
  applications: (name: string) => ask<Application[]>(name, 'applications'),
  cluster: (name: string) => ask<ClusterNode[]>(name, 'cluster'),
  partitions: (name: string) => ask<Partition[]>(name, 'cluster/partitions'),
  clusterLinks: (name: string) => ask<ClusterLink[]>(name, 'cluster/links'),
  instances: (name: string) => ask<Instance[]>(name, 'applications/instances'),
  ss7Rules: (name: string) => ask<Ss7Rule[]>(name, 'gtt/rules'),
  translate: (name: string, query: Query) => ask<Translated>(name, 'gtt/translate', query),
  sctpPaths: (name: string) => ask<SctpPath[]>(name, 'sctp/paths'),

  smsRegistrations: (name: string, query: Query = {}) =>
    ask<SmsRegistration[]>(name, 'sms/registrations', query),
  smsPending: (name: string, query: Query = {}) =>
    ask<PendingMessage[]>(name, 'sms/pending', query),
  smsStore: (name: string) => ask<SmsStore[]>(name, 'store'),
  smsSend: (name: string, text: { to: string; text: string; from?: string }) =>
    json<{ messages: number }[]>(`/functions/${part(name)}/sms/send`, post(text)),
  /** Tries what waits, or what waits for one number. */
  smsRetry: (name: string, to?: string) =>
    json<{ messages: number }[]>(
      `/functions/${part(name)}/sms/retry`,
      post(to === undefined ? {} : { to }),
    ),

  media: (name: string) => ask<MediaController[]>(name, 'media'),
  mediaStreams: (name: string, query: Query) => ask<MediaStream[]>(name, 'streams', query),
  worst: (query: Query) => json<{ trails: Trail[]; took_us: number }>(`/sas/worst${search(query)}`),

  trails: (query: Record<string, string | number | undefined>, signal?: AbortSignal) =>
    json<TrailPage>(`/sas/trails${search(query)}`, signal ? { signal } : {}),
  trail: (id: string) => json<TrailDetail>(`/sas/trails/${part(id)}`),
  trailFile: (id: string, form: 'pcapng' | 'text' | 'json') =>
    `${ROOT}/sas/trails/${part(id)}/${form}`,
  sasStatus: () => json<SasStatus>('/sas/status'),
  read: (file: Blob) =>
    json<{ trails: TrailDetail[] }>('/sas/read', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: file,
    }),

  config: () => json<ConfigText>('/config'),
  candidate: () => json<ConfigText>('/config/candidate'),
  /** Replaces the candidate; `revision` is the running one that the edit began with. */
  writeCandidate: (text: string, revision: number | string) =>
    call(`/config/candidate${search({ revision })}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/toml' },
      body: text,
    }),
  discard: () => call('/config/candidate', { method: 'DELETE' }),
  check: () => json<{ issues: ConfigIssue[] }>('/config/candidate/check', { method: 'POST' }),
  compare: async () => (await call('/config/candidate/compare')).text(),
  /** What a commit of the candidate would end or restart, a sentence each. */
  interruptions: () => json<ConfigIssue[]>('/config/candidate/interruptions'),
  commit: (order: { revision: number | string; confirm_s?: number; comment?: string }) =>
    call('/config/candidate/commit', post(order)),
  confirm: () => call('/config/confirm', { method: 'POST' }),
  rollback: (to?: number) => call('/config/rollback', post(to === undefined ? {} : { to })),
  exposures: () => json<Exposure[]>('/config/exposures'),
  revisions: () => json<ConfigRevision[]>('/config/history'),

  live: () => new EventSource(`${ROOT}/live`),
  tail: () => new EventSource(`${ROOT}/sas/tail`),
};
