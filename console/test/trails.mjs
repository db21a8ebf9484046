// Trails for the mock: whole calls through an SSC, message by message, with both legs. Texts,
// times and counts follow from a few rows per call, so that every view has something true to show.

const ACCESS = '203.0.113.5:5060';
const CORE = '10.20.0.5:5060';
const SWITCH = '10.20.0.40:5060';

const CHANGED_BY_RULE = 'Rule "hide vendor": User-Agent replaced, X-Tandem-Realm added';

function sdp(address, port, session) {
  return [
    'v=0',
    `o=- ${session} 1 IN IP4 ${address}`,
    's=-',
    `c=IN IP4 ${address}`,
    't=0 0',
    `m=audio ${port} RTP/AVP 8 0 101`,
    'a=rtpmap:8 PCMA/8000',
    'a=rtpmap:0 PCMU/8000',
    'a=rtpmap:101 telephone-event/8000',
    'a=fmtp:101 0-15',
    'a=ptime:20',
    'a=sendrecv',
    '',
  ].join('\r\n');
}

function text(start, headers, body = '') {
  const lines = [start, ...headers];
  if (body) lines.push('Content-Type: application/sdp');
  lines.push(`Content-Length: ${body.length}`, '', body);
  return lines.join('\r\n');
}

/** A call between two parties with everything that its messages need. */
class Call {
  constructor(n, { from, to, phone, start_us, domain = 'ims.example.net' }) {
    Object.assign(this, { n, from, to, phone, domain, start_us, at_us: start_us });
    this.seed = (n * 2654435761) >>> 0;
    this.tagA = this.hex(8);
    this.tagB = this.hex(8);
    this.tagC = `t0a-${this.hex(6)}`;
    this.callIds = [`${this.hex(8)}-${this.hex(4)}@${phone.split(':')[0]}`, `T0-${this.hex(10)}`];
    this.branches = [`z9hG4bK-${this.hex(8)}`, `z9hG4bK0100${this.hex(10)}`];
    this.hosts = [
      { address: phone, label: `+${from}`, side: 'access', self: false },
      { address: ACCESS, label: 'ssc1 access', side: 'access', self: true },
      { address: CORE, label: 'ssc1 core', side: 'core', self: true },
      { address: SWITCH, label: 'softswitch', side: 'core', self: false },
    ];
    this.messages = [];
    this.events = [];
    this.streams = [];
  }

  hex(length) {
    let out = '';
    while (out.length < length) {
      this.seed = (Math.imul(this.seed, 1664525) + 1013904223) >>> 0;
      out += this.seed.toString(16).padStart(8, '0').slice(0, 5);
    }
    return out.slice(0, length);
  }

  after(ms) {
    this.at_us += Math.round(ms * 1000);
    return this;
  }

  event(name, what, leg = null, host = 1) {
    this.events.push({ at_us: this.at_us, name, text: what, leg, host });
    return this;
  }

  push(message) {
    const n = this.messages.length;
    this.messages.push({
      n,
      at_us: this.at_us,
      transport: 'udp',
      method: null,
      status: null,
      reason: null,
      retransmission_of: null,
      pair: null,
      has_sdp: message.text.includes('\r\nv=0'),
      failed: false,
      components: [],
      ...message,
      call_id: this.callIds[message.leg],
    });
    return n;
  }

  /** One message on one leg. `toward` is `core` or `access`. */
  send(
    leg,
    toward,
    what,
    { sdp: body = false, cseq = 1, method = null, rule = false, tag = true } = {},
  ) {
    const right = toward === 'core';
    const [from, to] = leg === 0 ? (right ? [0, 1] : [1, 0]) : right ? [2, 3] : [3, 2];
    const answer = typeof what === 'number';
    const cseqMethod = method ?? (answer ? 'INVITE' : what);
    const headers = this.headers(leg, right !== answer, cseqMethod, cseq, {
      tag: tag && what !== 100 && !(what === 'INVITE' && cseq === 1),
      answer,
      rule,
      what,
    });
    const start = answer
      ? `SIP/2.0 ${what} ${REASONS[what]}`
      : `${what} ${this.target(leg, right, what)} SIP/2.0`;
    const address = (right ? (leg ? CORE : this.phone) : leg ? SWITCH : ACCESS).split(':')[0];
    return this.push({
      from,
      to,
      leg,
      cseq,
      cseq_method: cseqMethod,
      method: answer ? null : what,
      status: answer ? what : null,
      reason: answer ? REASONS[what] : null,
      text: text(
        start,
        headers,
        body
          ? sdp(
              right ? this.phone.split(':')[0] : '10.20.0.61',
              40_000 + this.n * 2,
              3_900_000 + this.n,
            )
          : '',
      ),
      address,
    });
  }

  target(leg, right, method) {
    if (method === 'REGISTER') return `sip:${this.domain}`;
    if (method === 'INVITE' || method === 'CANCEL')
      return `sip:+${this.to}@${this.domain};user=phone`;
    if (right) return leg ? `sip:+${this.to}@${SWITCH}` : `sip:${this.tagC}@${ACCESS}`;
    return leg ? `sip:${this.tagC}@${CORE}` : `sip:${this.from}@${this.phone}`;
  }

  headers(leg, caller, method, cseq, { tag, answer, rule, what }) {
    const a = `<sip:+${this.from}@${this.domain}>;tag=${leg ? this.tagC : this.tagA}`;
    const b = `<sip:+${this.to}@${this.domain};user=phone>${tag ? `;tag=${this.tagB}` : ''}`;
    const via = leg
      ? `SIP/2.0/UDP ${CORE};branch=${this.branches[1]}`
      : `SIP/2.0/UDP ${this.phone};branch=${this.branches[0]};rport${answer ? `=${this.phone.split(':')[1]};received=${this.phone.split(':')[0]}` : ''}`;
    const out = [`Via: ${via}`];
    if (!answer) out.push(`Max-Forwards: ${leg ? 69 : 70}`);
    out.push(
      `From: ${caller ? `"${NAMES[this.n % NAMES.length]}" ${a}` : b}`,
      `To: ${caller ? b : a}`,
      `Call-ID: ${this.callIds[leg]}`,
      `CSeq: ${cseq} ${method}`,
    );
    if (what === 'INVITE' || what === 200 || what === 'REGISTER') {
      const contact = answer ? (leg ? SWITCH : ACCESS) : leg ? CORE : this.phone;
      out.push(`Contact: <sip:${leg || answer ? this.tagC : this.from}@${contact};transport=udp>`);
    }
    if (what === 'INVITE') {
      out.push('Allow: INVITE, ACK, CANCEL, BYE, PRACK, UPDATE, OPTIONS, MESSAGE, NOTIFY');
      out.push(leg ? 'Supported: timer, 100rel' : 'Supported: timer, 100rel, outbound');
      out.push('Session-Expires: 1800;refresher=uac', 'Min-SE: 90');
      if (leg) out.push(`P-Asserted-Identity: <sip:+${this.from}@${this.domain}>`);
      else out.push(`P-Preferred-Identity: <sip:+${this.from}@${this.domain}>`);
    }
    if (!answer) {
      out.push(leg && rule ? 'User-Agent: Tandem' : 'User-Agent: Acme-Phone/4.2 (build 981; beta)');
      if (leg && rule) out.push('X-Tandem-Realm: access');
    } else if (what >= 200) out.push(leg ? 'Server: softswitch/11.3' : 'Server: Tandem');
    if (what === 486) out.push('Reason: Q.850;cause=17;text="User busy"');
    return out;
  }

  pair(a, b) {
    this.messages[a].pair = b;
    this.messages[b].pair = a;
  }

  /** A message from one side to the other, through the SSC. */
  through(toward, what, options = {}) {
    const delay_ms = 0.21 + (parseInt(this.hex(2), 16) % 40) / 100;
    const right = toward === 'core';
    const first = this.send(right ? 0 : 1, toward, what, options);
    this.after(delay_ms);
    const second = this.send(right ? 1 : 0, toward, what, options);
    this.pair(first, second);
    return [first, second];
  }

  repeat(n) {
    const { n: _, pair: __, ...same } = this.messages[n];
    this.messages.push({
      ...same,
      n: this.messages.length,
      at_us: this.at_us,
      retransmission_of: n,
      pair: null,
    });
    return this;
  }

  detail({ id, kind = 'call', outcome, status, ringing = null, answered = null, ended = true }) {
    const last = this.messages.at(-1).at_us;
    const repeats = this.messages.filter((m) => m.retransmission_of !== null).length;
    const legs = new Set(this.messages.map((m) => m.leg)).size;
    return {
      trail: {
        id,
        kind,
        outcome,
        status,
        started_at_us: this.start_us,
        ended_at_us: ended ? last : null,
        from: `sip:+${this.from}@${this.domain}`,
        to: `sip:+${this.to}@${this.domain}`,
        method: kind === 'registration' ? 'REGISTER' : 'INVITE',
        subscriber: null,
        cause: null,
        call_ids: this.callIds.slice(0, legs),
        hosts: this.hosts.map((host) => host.address),
        duration_ms: answered === null ? null : (last - answered) / 1000,
        post_dial_delay_ms: ringing === null ? null : (ringing - this.start_us) / 1000,
        messages: this.messages.length,
        retransmissions: repeats,
        media: summary(this.streams),
      },
      hosts: this.hosts,
      messages: this.messages.map(({ address: _, ...message }) => message),
      events: this.events,
      streams: this.streams,
      left_out: 0,
    };
  }

  /**
   * Media of both ends from now on for so long, as a media controller told of them; `bad` makes the
   * middle of what the caller sends a poor line.
   */
  media(talk_s, { bad = false, secure = false, codec = 'PCMA/8000', running = false } = {}) {
    const begin = this.at_us;
    const end = begin + talk_s * 1e6;
    const ends = [
      ['a', secure ? 'AES_CM_128_HMAC_SHA1_80' : 'RTP', '203.0.113.6:20412', this.phone],
      ['b', 'RTP', '10.20.0.6:31888', '10.20.0.61:40002'],
    ];
    this.streams = ends.map(([leg, suite, local, remote]) => {
      const points = [];
      for (let at = begin + 5e6; at <= end; at += 5e6) {
        const part = (at - begin) / (end - begin);
        const is = bad && leg === 'a' && part > 0.38 && part < 0.72;
        const noise = parseInt(this.hex(2), 16) / 255;
        const loss = is ? Math.round(40 + 90 * noise) : noise > 0.86 ? 4 : 0;
        const mos = is ? Math.round(330 - 120 * noise) : Math.round(441 - loss * 4 - 6 * noise);
        points.push({
          at_us: at,
          duration_ms: 5_000,
          packets: 250 - Math.round(loss / 4),
          lost: Math.round(loss / 4),
          loss_permille: loss,
          jitter_us: Math.round(is ? 28_000 + 40_000 * noise : 900 + 2_600 * noise),
          round_trip_us: 41_000,
          r_tenths: mos * 2,
          mos_hundredths: mos,
        });
      }
      const ip = remote.split(':')[0];
      const mark = (s, name, text, digit = null) => ({
        at_us: begin + s * 1e6,
        name,
        text,
        digit,
      });
      const began = `kind audio, codec ${codec}, suite ${suite}`;
      const marks = [mark(0, 'StreamBegan', began)];
      if (leg === 'a') {
        marks.push(mark(0.14, 'StreamLatched', `remote ${ip}:61042`));
        if (bad) {
          marks.push(mark(4.2, 'DigitTyped', 'duration_ms 120, way rtp', '1'));
          marks.push(mark(6.4, 'DigitTyped', 'duration_ms 140, way rtp', '4'));
          marks.push(mark(9.8, 'DigitTyped', 'duration_ms 100, way rtp', '#'));
          marks.push(mark(talk_s * 0.55, 'OneWayDetected', 'after_ms 3000'));
          marks.push(mark(talk_s * 0.66, 'OneWayEnded', 'after_ms 4600'));
        }
      }
      if (!running) marks.push({ ...mark(talk_s, 'StreamEnded', ''), at_us: end });
      return {
        ...told(points),
        leg,
        line: 0,
        heard_by: null,
        ssrc: null,
        terms: {
          kind: 'audio',
          codec,
          suite,
          local,
          remote,
          latched: leg === 'a' ? `${ip}:61042` : null,
          direction: 'sendrecv',
          controller: 'msc1',
        },
        began_at_us: begin,
        ended_at_us: running ? null : end,
        one_way: bad && leg === 'a',
        timed_out: false,
        unprotected: secure && bad && leg === 'a' ? 12 : 0,
        ended_by: null,
        marks,
      };
    });
    return this;
  }

  /** What the callee told by RTCP of what it heard, every ten seconds. */
  heard(talk_s) {
    const begin = this.at_us;
    const points = this.streams[0].points
      .filter((_, n) => n % 2)
      .map((point) => ({ ...point, duration_ms: 10_000, packets: null, lost: null }))
      .map((point) => ({ ...point, mos_hundredths: point.mos_hundredths - 8 }));
    this.streams.push({
      ...told(points),
      leg: 'a',
      line: 0,
      heard_by: '10.20.0.61:40003',
      ssrc: '5c1d0a77',
      terms: {
        kind: 'audio',
        codec: 'PCMA/8000',
        suite: 'RTP',
        local: null,
        remote: null,
        latched: null,
        direction: null,
        controller: null,
      },
      began_at_us: begin,
      ended_at_us: null,
      one_way: false,
      timed_out: false,
      unprotected: 0,
      ended_by: null,
      marks: [],
    });
    return talk_s;
  }
}

/** A stream's figures over the whole, from its reports. */
function told(points) {
  const of = (name) => points.map((point) => point[name]).filter((value) => value !== null);
  const mean = (name) =>
    of(name).length ? Math.round(of(name).reduce((a, b) => a + b, 0) / of(name).length) : null;
  const sum = (name) => (of(name).length ? of(name).reduce((a, b) => a + b, 0) : null);
  const mos = of('mos_hundredths');
  return {
    points,
    figures: {
      packets: sum('packets'),
      lost: sum('lost'),
      loss_permille: mean('loss_permille'),
      jitter_us: mean('jitter_us'),
      round_trip_us: mean('round_trip_us'),
      r_tenths: mean('r_tenths'),
      mos_hundredths: mean('mos_hundredths'),
    },
    mos_min_hundredths: mos.length ? Math.min(...mos) : null,
  };
}

/** The worst of all streams. */
function summary(streams) {
  if (!streams.length) return null;
  const of = (name) => streams.map((it) => it.figures[name]).filter((value) => value !== null);
  const least = (values) => (values.length ? Math.min(...values) : null);
  const most = (values) => (values.length ? Math.max(...values) : null);
  return {
    streams: streams.length,
    codecs: [...new Set(streams.map((it) => it.terms.codec))],
    protected: streams.every((it) => it.terms.suite !== 'RTP'),
    mos_hundredths: least(of('mos_hundredths')),
    mos_min_hundredths: least(
      streams.map((it) => it.mos_min_hundredths).filter((value) => value !== null),
    ),
    loss_permille: most(of('loss_permille')),
    jitter_us: most(of('jitter_us')),
    one_way: streams.some((it) => it.one_way),
    timed_out: false,
    unprotected: streams.reduce((all, it) => all + it.unprotected, 0),
  };
}

const NAMES = ['Anna Weber', 'Front desk', 'B. Okafor', 'Lena', 'Night line'];
const REASONS = {
  100: 'Trying',
  180: 'Ringing',
  183: 'Session Progress',
  200: 'OK',
  403: 'Forbidden',
  480: 'Temporarily Unavailable',
  486: 'Busy Here',
  487: 'Request Terminated',
};

function begin(call, { rule = false, lost = false } = {}) {
  const invite = call.send(0, 'core', 'INVITE', { sdp: true });
  call.after(0.1);
  call.event('CallReceived', `INVITE from ${call.phone} in realm access`, 0, 1);
  call.after(0.1);
  call.send(0, 'access', 100, { method: 'INVITE' });
  if (rule) call.event('RuleApplied', CHANGED_BY_RULE, 1, 2);
  call.after(0.2);
  const out = call.send(1, 'core', 'INVITE', { sdp: true, rule });
  call.pair(invite, out);
  call.event('CallRouted', `Route access → softswitch, next hop ${SWITCH}`, 1, 2);
  if (lost) call.after(500).repeat(out);
  call.after(2.1);
  call.send(1, 'access', 100, { method: 'INVITE' });
}

function answered(n, party, { rule = false, lost = false, talk_s = 42, running = false } = {}) {
  const call = new Call(n, party);
  begin(call, { rule, lost });
  call.after(83);
  const [, ringing] = call.through('access', 180, { method: 'INVITE' });
  call.after(2_940);
  const [ok] = call.through('access', 200, { method: 'INVITE', sdp: true });
  const answer_us = call.at_us;
  call.event('CallAnswered', 'Answered after 3.0 s', null, 1);
  if (lost) {
    call.after(500).repeat(ok + 1);
  }
  call.after(4.2);
  call.through('core', 'ACK');
  if (running || n % 4 !== 1) {
    const bad = rule || n % 9 === 0;
    const codec = n % 5 === 3 ? 'opus/48000/2' : 'PCMA/8000';
    call.media(running ? 6 : talk_s, { bad, secure: n % 2 === 0, codec, running });
    if (rule) call.heard(talk_s);
  }
  const options = {
    id: `T${n}`,
    outcome: 'answered',
    status: 200,
    answered: answer_us,
    ringing: call.messages[ringing].at_us,
  };
  if (running)
    return { ...call.detail({ ...options, answered: null, outcome: 'in-progress', ended: false }) };
  call.after(talk_s * 1000);
  call.through('core', 'BYE', { cseq: 2 });
  call.after(3.3);
  call.through('access', 200, { method: 'BYE', cseq: 2 });
  call.event('CallEnded', `Ended by the caller after ${talk_s} s`, null, 1);
  return call.detail(options);
}

function busy(n, party) {
  const call = new Call(n, party);
  begin(call);
  call.after(61);
  const [far, near] = call.through('access', 486, { method: 'INVITE' });
  call.after(0.3);
  call.send(1, 'core', 'ACK');
  call.after(1.8);
  call.send(0, 'core', 'ACK');
  call.event('CallRejected', '486 from the next hop passed to the caller', null, 1);
  return { ...call.detail({ id: `T${n}`, outcome: 'busy', status: 486 }), far, near };
}

function cancelled(n, party, { wait_ms = 6_200, outcome = 'cancelled' } = {}) {
  const call = new Call(n, party);
  begin(call);
  call.after(95);
  const [, ringing] = call.through('access', 180, { method: 'INVITE' });
  call.after(wait_ms);
  if (outcome === 'cancelled') {
    call.through('core', 'CANCEL', { tag: false });
    call.event('CallCancelled', 'The caller gave up', null, 1);
  } else {
    call.event('AnswerTimeout', 'No answer within 30 s', null, 1);
    call.send(1, 'core', 'CANCEL', { tag: false });
  }
  call.after(0.8);
  if (outcome === 'cancelled') call.send(0, 'access', 200, { method: 'CANCEL' });
  call.after(1.1);
  call.send(1, 'access', 200, { method: 'CANCEL' });
  call.after(0.6);
  const final = outcome === 'cancelled' ? 487 : 480;
  const in487 = call.send(1, 'access', 487, { method: 'INVITE' });
  call.after(0.3);
  call.send(1, 'core', 'ACK');
  const out487 = call.send(0, 'access', final, { method: 'INVITE' });
  call.pair(in487, out487);
  call.after(2);
  call.send(0, 'core', 'ACK');
  const made = call.detail({
    id: `T${n}`,
    outcome,
    status: final,
    ringing: call.messages[ringing].at_us,
  });
  return made;
}

function rejected(n, party) {
  const call = new Call(n, party);
  call.hosts = call.hosts.slice(0, 2);
  call.send(0, 'core', 'INVITE', { sdp: true });
  call.after(0.2);
  call.event('CallRefused', 'Not registered: realm access asks for a registration', 0, 1);
  call.after(0.1);
  call.send(0, 'access', 403, { method: 'INVITE' });
  call.after(1.4);
  call.send(0, 'core', 'ACK');
  return call.detail({ id: `T${n}`, outcome: 'rejected', status: 403 });
}

function registered(n, party) {
  const call = new Call(n, { ...party, to: party.from });
  call.through('core', 'REGISTER');
  call.after(4);
  call.through('access', 200, { method: 'REGISTER' });
  call.event('RegistrationCached', 'Binding kept, core refresh in 1 800 s', 0, 1);
  call.after(30_000);
  call.send(0, 'core', 'REGISTER', { cseq: 2 });
  call.after(0.2);
  call.event('RegistrationAnswered', 'Answered from the binding, core not asked', 0, 1);
  call.send(0, 'access', 200, { method: 'REGISTER', cseq: 2 });
  return call.detail({ id: `T${n}`, kind: 'registration', outcome: 'registered', status: 200 });
}

const PHONES = [
  '198.51.100.23:5060',
  '198.51.100.71:6112',
  '192.0.2.140:5062',
  '198.51.100.9:5060',
];

/** The newest first; `now_us` is when the mock starts. */
export function makeTrails(now_us, many = 140) {
  const trails = [];
  const party = (n, ago_s) => ({
    from: String(4930555_0000 + ((n * 7919) % 9000)),
    to: String(4940555_0000 + ((n * 104729) % 9000)),
    phone: PHONES[n % PHONES.length],
    start_us: now_us - ago_s * 1_000_000,
  });
  const fixed = (n, ago_s, to) => ({ ...party(n, ago_s), from: '49305550100', to });
  trails.push(answered(7001, fixed(7001, 9, '49405550142'), { running: true }));
  trails.push(answered(7002, fixed(7002, 61, '49405550142'), { rule: true, lost: true }));
  trails.push(busy(7003, fixed(7003, 94, '49405550177')));
  trails.push(cancelled(7004, fixed(7004, 121, '49405550118')));
  trails.push(
    cancelled(7005, fixed(7005, 190, '49405550190'), { wait_ms: 30_000, outcome: 'no-answer' }),
  );
  trails.push(rejected(7006, fixed(7006, 214, '49009000000')));
  trails.push(registered(7007, fixed(7007, 260, '')));
  const makers = [
    answered,
    answered,
    answered,
    busy,
    answered,
    cancelled,
    registered,
    answered,
    rejected,
  ];
  for (let n = 0; n < many; n++) {
    const make = makers[n % makers.length];
    trails.push(
      make(
        6999 - n,
        party(n, 300 + n * 23),
        make === answered ? { talk_s: 8 + ((n * 37) % 400), lost: n % 11 === 0 } : undefined,
      ),
    );
  }
  return trails.sort((a, b) => b.trail.started_at_us - a.trail.started_at_us);
}

/** A fresh answered call for the live tail. */
export function liveTrail(n, now_us) {
  return answered(n, {
    from: String(4930555_0000 + ((n * 7919) % 9000)),
    to: String(4940555_0000 + ((n * 104729) % 9000)),
    phone: PHONES[n % PHONES.length],
    start_us: now_us,
  });
}

/** Dialogues of TCAP over a relay, the newest first. */
export function makeDialogues(start_us) {
  return [
    ['D1', 'sendRoutingInfoForSM', 'shortMsgGatewayContext-v3', '447700900123', null, 4],
    ['D2', 'sendAuthenticationInfo', 'infoRetrievalContext-v3', '234150000000002', null, 190],
    [
      'D3',
      'sendRoutingInfoForSM',
      'shortMsgGatewayContext-v3',
      '447700900999',
      'unknownSubscriber',
    ],
    ['D4', 'updateLocation', 'networkLocUpContext-v3', '234150000000007', null, 640],
    ['D5', 'initialDP', 'CAP-v2-gsmSSF-to-gsmSCF-AC-v2', '447700900311', 'resourceLimitation'],
    ['D6', 'mt-ForwardSM', 'shortMsgMT-RelayContext-v3', '234150000000002', null, 22],
  ].map((row, n) => dialogue(row, start_us - (n * 41 + 6) * 1e6));
}

function dialogue([id, method, context, subscriber, cause, lasted_ms = 6], at_us) {
  const [asks, answers] = ['447800000001', '447700000001'];
  const isAbort = cause === 'resourceLimitation';
  const hosts = [
    ['10.30.1.1:2905', '2-3-9', false],
    ['10.30.0.1:2905', '10.30.0.1:2905', true],
    ['10.30.2.1:2905', '2-3-5', false],
  ].map(([address, label, self]) => ({ address, label, side: null, self }));
  const answer = isAbort
    ? `Abort: ${cause}`
    : cause
      ? `End error ${cause}`
      : `End result ${method}`;
  const component = cause
    ? { error: 1, name: cause }
    : { result: 1, operation: method, value: { imsi: '32140500000000f1' } };
  const lines = [
    [0, 1, `Begin ${method}`, 0],
    [1, 2, `Begin ${method}`, 210],
    [2, 1, answer, lasted_ms * 1000 - 400],
    [1, 0, answer, lasted_ms * 1000],
  ];
  const messages = lines.map(([from, to, title, after], n) => ({
    n,
    at_us: at_us + after,
    from,
    to,
    transport: 'sctp',
    call_id: `0a00b0${id}@${asks}`,
    leg: 0,
    method: title,
    status: null,
    reason: null,
    cseq: null,
    cseq_method: null,
    retransmission_of: null,
    pair: [1, 0, 3, 2][n],
    has_sdp: false,
    failed: n > 1 && cause !== null,
    components: n < 2 ? [{ invoke: 1, operation: method }] : isAbort ? [] : [component],
    text: [
      `UDT from node ${n % 2 ? '2-3-1' : '2-3-9'}`,
      `calling: ${n < 2 ? asks : answers}, subsystem 8`,
      `called: ${n < 2 ? answers : asks}, subsystem 6`,
      '',
      title.split(/[ :]/)[0],
      `transaction at who sent it: 0a00b0${id}@${asks}`,
      ...(n < 2 ? ['dialogue: AARQ', `context: ${context}`] : []),
      '',
      JSON.stringify(n < 2 ? { invoke: 1, operation: method } : component, null, 2),
      '',
      'M3UA',
      '01 00 01 01 00 00 00 8c 02 10 00 84 00 00 13 24',
    ].join('\n'),
  }));
  return {
    trail: {
      id,
      kind: 'dialogue',
      outcome: cause ? 'failed' : 'ok',
      status: cause ? 1 : null,
      started_at_us: at_us,
      ended_at_us: at_us + lasted_ms * 1000,
      from: asks,
      to: answers,
      method,
      subscriber,
      cause,
      call_ids: [`0a00b0${id}@${asks}`],
      hosts: hosts.map((host) => host.address),
      duration_ms: lasted_ms,
      post_dial_delay_ms: null,
      messages: messages.length,
      retransmissions: 0,
      media: null,
    },
    hosts,
    messages,
    events: [],
    streams: [],
    left_out: 0,
  };
}
