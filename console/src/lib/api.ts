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
  functions: FunctionRow[];
}

export interface Counter {
  function: string;
  shard: number;
  name: string;
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

/** A peer of a route reflector. */
export interface BgpPeer {
  peer: string;
  address: string;
  asn: number | null;
  kind: string;
  state: string;
  since_us: number;
  routes_accepted: number;
  routes_out: number;
  why: string | null;
}

/** A path to a prefix. */
export interface BgpPath {
  route: string;
  peer: string;
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

export interface Trail {
  id: string;
  kind: string;
  started_at_us: number;
  ended_at_us: number | null;
  from: string;
  to: string;
  method: string;
  call_ids: string[];
  hosts: string[];
  status: number | null;
  outcome: string;
  duration_ms: number | null;
  post_dial_delay_ms: number | null;
  messages: number;
  retransmissions: number;
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
  call_id: string;
  leg: number;
  method: string | null;
  status: number | null;
  reason: string | null;
  cseq: number | null;
  cseq_method: string | null;
  retransmission_of: number | null;
  pair: number | null;
  has_sdp: boolean;
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

export const api = {
  signIn: (token: string) => call('/session', post({ token })),
  signOut: () => call('/session', { method: 'DELETE' }),
  holder: () => json<Holder>('/session'),
  site: () => json<Site>('/site'),
  counters: () => json<Counter[]>('/counters'),
  history: (names: string[], since_s: number) =>
    json<History>(`/metrics/history${search({ name: names.join(','), since_s })}`),
  alarms: (history: boolean) => json<Alarm[]>(`/alarms${history ? '?history=true' : ''}`),
  nextHops: (name: string) => json<NextHop[]>(`/functions/${part(name)}/next-hops`),
  registrations: (name: string) => json<Registration[]>(`/functions/${part(name)}/registrations`),
  bgpPeers: (name: string) => json<BgpPeer[]>(`/functions/${part(name)}/bgp/summary`),
  bgpRoute: (name: string, prefix: string) =>
    json<BgpPath[]>(`/functions/${part(name)}/bgp/route${search({ prefix })}`),

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
  commit: (revision: number | string, confirm_s?: number) =>
    call('/config/candidate/commit', post(confirm_s ? { revision, confirm_s } : { revision })),
  confirm: () => call('/config/confirm', { method: 'POST' }),
  rollback: (to?: number) => call('/config/rollback', post(to === undefined ? {} : { to })),
  exposures: () => json<Exposure[]>('/config/exposures'),
  revisions: () => json<ConfigRevision[]>('/config/history'),

  live: () => new EventSource(`${ROOT}/live`),
  tail: () => new EventSource(`${ROOT}/sas/tail`),
};
