// Every page of every function at two sizes, in light and dark: the accessibility tree (axe-core),
// the contrast of every text, nothing off the screen, no error; what empty and failing functions
// look like; how much a page asks when it is left alone; how much the first page weighs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { contrasts, openBrowser, openPage } from '../browser.mjs';
import { startMock } from '../mock.mjs';

const WAIT = { timeout: 20_000 };
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const EVERYTHING = ['ssc', 'msc', 'sas', 'rr', 'pe', 'sgc', 'ipsmgw'];
const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Each page, and a text that stands there once it is drawn. */
const PAGES = [
  ['/', 'pe24'],
  ['/calls', '+49305550100'],
  ['/calls/T7002?m=2&view=changes', 'INVITE'],
  ['/calls/T7002?media=0', 'Round trip'],
  ['/registrations', 'Core expires'],
  ['/registrations?view=ims', '203.0.113.9:61022'],
  ['/registrations?view=ims&q=262070000001041', 'asks for no security agreement'],
  ['/registrations?view=ims&q=4930200', 'Registrations watched at the core'],
  ['/media', '16 122'.replace(' ', '\u202f')],
  ['/media?view=worst', 'At worst'],
  ['/media?view=streams', 'atlanta.example.com'],
  ['/peers', 'transit2'],
  ['/peers?peer=pe8', 'Offered in OPEN'],
  ['/peers?peer=pe31', 'It came from a range of addresses'],
  ['/peers?function=pe1', 'transit9'],
  ['/peers?function=pe1&peer=rr-north', 'internal'],
  ['/routes?function=pe1', '10.0.0.0/16'],
  ['/routes', '10.0.0.0/16'],
  ['/routes?within=10.1.0.0/16&route=10.1.3.0/24', 'Best path'],
  ['/edge', '02:00:00:00:00:04'],
  ['/edge?view=tables&vrf=red', '10.0.12.0/24'],
  ['/edge?view=bridges', '02:00:5e:00:00:07'],
  ['/edge?view=wires', 'control word'],
  ['/edge?view=filters', 'what no rule matches'],
  ['/edge?view=drops', 'Time to live expired'],
  ['/edge?view=trace', 'dropped: denied by a rule'],
  ['/network', 'vie1'],
  ['/network?from=1921.6800.0001&to=1921.6800.0010', 'the tunnel ends'],
  ['/network?from=1921.6800.0003', 'What fra1 says'],
  ['/network?back=1', '– bru1'],
  ['/network?of=ospf%200.0.0.7', 'Its hello interval is 1 s, here 10 s'],
  ['/ss7', '10.31.2.1'],
  ['/ss7?view=servers', 'AS-PENDING'],
  ['/ss7?view=routes', '2-9-2'],
  ['/ss7?view=numbers', '44770090[0-4]'],
  ['/ss7?view=numbers&digits=447700900123', 'takes it'],
  ['/ss7?view=subsystems', 'no instance of its application'],
  ['/ss7?view=dialogues', 'sendRoutingInfoForSM'],
  ['/ss7?view=cluster', '1:33 min'],
  ['/messages', 'The terminal has no memory'],
  ['/messages?to=447700900100', 'Status report of'],
  ['/messages?send=1', 'To, with the country code'],
  ['/messages?view=registered', 'take short messages'],
  ['/messages?view=outcomes', 'Delivered over IP'],
  ['/messages?view=core', '/var/lib/tandem/sms1.store'],
  ['/alarms', 'Port ge2 has no link'],
  ['/metrics', 'BMP sessions'],
  ['/configuration', '[site]'],
];

let browser;
/** Ways to close what a test has opened, also when it fails. */
const open = [];
before(async () => {
  browser = await openBrowser();
});
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});
after(async () => {
  await browser?.close();
});

async function opened({ isPaused = false, ...options }, site = { kinds: EVERYTHING }) {
  const served = await startMock(0, site);
  served.mock.traced = true;
  const seen = await openPage(browser, served.url, { reducedMotion: 'reduce', ...options });
  open.push(async () => {
    await seen.context.close();
    await served.stop();
  });
  if (isPaused) await seen.page.clock.install();
  // The frame is loaded once, pages follow by their address as they do for people.
  await seen.page.goto(`${served.url}/#token=${served.token}`);
  await seen.page.getByRole('navigation', { name: 'Pages' }).waitFor(WAIT);
  if (isPaused) await seen.page.clock.pauseAt(Date.now() + 2_000);
  const go = async (path, text) => {
    await seen.page.evaluate((hash) => (location.hash = hash), `#${path}`);
    if (text) await shown(seen.page, text);
  };
  return { ...seen, served, mock: served.mock, go };
}

/** Waits until a text, or the value of a field, stands on the page. */
async function shown(page, text) {
  await page.waitForFunction(
    (wanted) =>
      document.getElementById('main')?.textContent.includes(wanted) ||
      [...document.querySelectorAll('textarea')].some((it) => it.value.includes(wanted)),
    text,
    { ...WAIT, polling: 50 },
  );
}

/** Sets the clock of a page forward; what is answered meanwhile comes in its own time. */
async function pass(page, s) {
  for (let n = 0; n < s; n++) {
    await page.clock.runFor(1_000);
    await new Promise((done) => setTimeout(done, 30));
  }
}

/** What ends beyond the sides of the screen and is not in something that scrolls by design. */
function offScreen() {
  const wide = innerWidth;
  const found = [...document.querySelectorAll('body *')].filter((it) => {
    if (
      it.closest(
        '.unseen, .long, .skip, thead, .area:has([role=listbox]), [role=region], .editor, svg *',
      )
    )
      return false;
    if (!it.checkVisibility()) return false;
    const { left, right, width } = it.getBoundingClientRect();
    return width > 0 && (right > wide + 1 || left < -1);
  });
  return found
    .slice(0, 5)
    .map((it) => `${it.tagName}.${it.className} ${it.textContent.trim().slice(0, 40)}`);
}

async function offences(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
      // Measured by this suite itself, with what stands behind a text taken into account.
      rules: { 'color-contrast': { enabled: false } },
      resultTypes: ['violations'],
    });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.slice(0, 3).map((it) => `${it.failureSummary} ${it.html.slice(0, 120)}`)}`,
    );
  });
}

for (const [size, options] of [
  ['1440 px', DESKTOP],
  ['390 px', PHONE],
]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`every page at ${size}, ${colorScheme}`, async () => {
      const seen = await opened({ ...options, colorScheme });
      for (const [path, text] of PAGES) {
        await seen.go(path, text);
        const weak = await seen.page.evaluate(contrasts);
        assert.deepEqual(weak, [], `${path}: contrast below 4.5`);
        assert.deepEqual(await seen.page.evaluate(offScreen), [], `${path}: off the screen`);
        const below = await seen.page.evaluate(
          () => document.scrollingElement.scrollHeight - innerHeight,
        );
        assert.equal(below, 0, `${path}: the document scrolls into nothing`);
        // The tree is the same in both schemes.
        if (colorScheme === 'light') assert.deepEqual(await offences(seen.page), [], path);
      }
      assert.deepEqual(seen.faults, []);
    });
  }
}

test('left alone, no page asks more than once a second', async () => {
  const ALONE_S = 10;
  const seen = await opened({ ...DESKTOP, isPaused: true });
  const { page, mock } = seen;
  for (const [path, text] of PAGES) {
    await seen.go(path, text);
    // What opens a page is asked at once; from then on it is left alone.
    await pass(page, 2);
    mock.asked.length = 0;
    await pass(page, ALONE_S);
    const asked = [...mock.asked];
    assert.ok(asked.length <= ALONE_S, `${path} asked ${asked.length} times: ${asked}`);
    if (path === '/') {
      const site = asked.filter((it) => it === '/site').length;
      assert.ok(site >= 1 && site <= 2, `the overview read the site ${site} times`);
    }
  }
});

test('a site of one function has its pages, and no words of others', async () => {
  const TEXTS = { ...Object.fromEntries(PAGES), '/': 'up 2:', '/calls': 'pe24' };
  Object.assign(TEXTS, { '/alarms': 'Active', '/metrics': 'per second' });
  const sip = /\b(SIP|INVITE|REGISTER|Call-ID|calls?|registrations?|realm|softswitch)\b/i;
  for (const [kind, names, pages] of [
    ['rr', ['Overview', 'Peers', 'Routes'], ['/', '/peers', '/routes', '/calls']],
    [
      'pe',
      ['Overview', 'Peers', 'Routes', 'Edge', 'Network'],
      ['/', '/edge', '/network', '/alarms', '/metrics'],
    ],
    ['msc', ['Overview', 'Media'], ['/']],
    ['ipsmgw', ['Overview', 'Messages'], []],
    ['sgc', ['Overview', 'SS7'], ['/', '/ss7', '/ss7?view=servers', '/alarms', '/metrics']],
  ]) {
    const kinds = kind === 'rr' ? ['rr', 'sas'] : [kind];
    const seen = await opened(DESKTOP, { kinds });
    seen.mock.holder = { name: 'noc', role: 'operator' };
    await seen.page.reload();
    const navigation = seen.page.getByRole('navigation', { name: 'Pages' });
    await navigation.waitFor(WAIT);
    const found = await navigation.getByRole('listitem').allInnerTexts();
    const expected = [...names, ...(kind === 'rr' ? ['Trails'] : []), 'Alarms', 'Metrics'];
    assert.deepEqual(found.map((name) => name.split('\n')[0].trim()).sort(), expected.sort());
    for (const path of pages) {
      // An edge's first metrics are gauges.
      const isOfGauges = kind === 'pe' && path === '/metrics';
      await seen.go(path, isOfGauges ? 'Ports up' : TEXTS[path]);
      const text = await seen.page.evaluate(() => document.body.innerText);
      assert.doesNotMatch(text, sip, `${kind} ${path}`);
    }
    assert.deepEqual(seen.faults, []);
  }
});

test('functions without anything configured say what is missing, in their words', async () => {
  const seen = await opened(DESKTOP, { kinds: EVERYTHING, bare: true });
  for (const [path, text] of [
    ['/peers', 'No peers yet'],
    ['/routes', 'No routes of ipv4-unicast'],
    ['/registrations', 'Nobody is registered'],
    ['/registrations?view=ims', 'No phone of IMS has come'],
    ['/media', 'The forwarder is away'],
    ['/media?view=worst', 'No call has figures yet'],
    ['/media?view=streams', 'No streams'],
    ['/edge', 'The forwarder is away'],
    ['/edge?view=tables', 'This table is empty'],
    ['/edge?view=bridges', 'No bridge domains'],
    ['/edge?view=wires', 'No cross-connects'],
    ['/edge?view=filters', 'No filters'],
    ['/edge?view=drops', 'No packet was dropped'],
    ['/network', 'Neither OSPF nor IS-IS is spoken'],
    ['/ss7', 'No peers'],
    ['/ss7?view=servers', 'No Application Servers'],
    ['/ss7?view=routes', 'No routes'],
    ['/ss7?view=numbers', 'No rules'],
    ['/ss7?view=subsystems', 'No subsystems'],
    ['/ss7?view=cluster', 'No cluster'],
    ['/messages', 'No message waits'],
    ['/messages?view=registered', 'No subscriber is registered'],
    ['/messages?view=outcomes', 'went well'],
    ['/messages?view=core', 'No next hop'],
  ]) {
    await seen.go(path, text);
    assert.deepEqual(await offences(seen.page), [], path);
  }
  assert.deepEqual(seen.faults, []);
});

test('what cannot be read is told, and comes back by itself', async () => {
  const seen = await opened({ ...DESKTOP, isPaused: true });
  seen.mock.failing = ['/functions/', '/sas/worst', '/alarms', '/counters'];
  const places = [
    ['/peers', 'The peers cannot be read', 'transit2'],
    ['/edge', 'The ports cannot be read', '02:00:00:00:00:04'],
    ['/ss7', 'The associations cannot be read', '10.31.2.1'],
    ['/ss7?view=numbers', 'The rules cannot be read', '44770090[0-4]'],
    ['/ss7?view=subsystems', 'The subsystems cannot be read', 'hlr-2'],
    ['/messages', 'The messages cannot be read', 'The terminal has no memory'],
    ['/messages?view=registered', 'The subscribers cannot be read', 'take short messages'],
    ['/messages?view=outcomes', 'The outcomes cannot be read', 'Delivered over IP'],
    ['/media', 'The media controllers cannot be read', 'IPv6'],
    ['/media?view=worst', 'The worst calls cannot be read', 'At worst'],
    ['/media?view=streams', 'The streams cannot be read', 'atlanta.example.com'],
    ['/registrations?view=ims', 'The phones cannot be read', '203.0.113.9:61022'],
    ['/registrations', 'The registrations cannot be read', 'Core expires'],
  ];
  for (const [path, told] of places) {
    await seen.go(path, told);
    await shown(seen.page, 'tried again');
  }
  seen.mock.failing = [];
  await pass(seen.page, 20);
  await shown(seen.page, places.at(-1)[2]);
  // What is shown stays while there is nothing newer, and says so.
  await seen.go('/peers', 'transit2');
  seen.mock.failing = ['/functions/'];
  await pass(seen.page, 20);
  await shown(seen.page, 'Not up to date');
  await shown(seen.page, 'transit2');
});

test('a site that goes away is told and found again without a hand', async () => {
  const seen = await opened({ ...DESKTOP, isPaused: true });
  seen.mock.failing = ['/site', '/session'];
  await seen.page.reload();
  await seen.page.getByText('The site does not answer').waitFor(WAIT);
  seen.mock.failing = [];
  await pass(seen.page, 6);
  await seen.page.getByRole('navigation', { name: 'Pages' }).waitFor(WAIT);
});

test('routes are walked: a peer, a prefix, what lies within, a route and why paths lost', async () => {
  const { page, go, faults } = await opened(DESKTOP, { kinds: ['rr'] });
  await go('/peers', 'transit2');
  // What is typed stays under the hands: another filter does not begin the page anew.
  await page.getByRole('searchbox').pressSequentially('pe8');
  assert.equal(await page.evaluate(() => document.activeElement.value), 'pe8');
  await page.getByRole('link', { name: 'pe8', exact: true }).click();
  await page.getByRole('link', { name: /routes learnt from it/ }).click();
  await page.waitForURL(/received=pe8/, WAIT);
  await go('/routes', '10.0.0.0/16');
  await page.getByRole('searchbox').fill('10.1.0.0/16');
  await page.keyboard.press('Enter');
  await page.waitForURL(/within=10\.1\.0\.0%2F16/, WAIT);
  await shown(page, '10.1.3.0/24');
  const way = page.getByRole('navigation', { name: 'Way to this prefix' });
  await way.getByText('10.1.0.0/16').waitFor(WAIT);
  await page.getByRole('link', { name: '10.1.3.0/24', exact: true }).click();
  const route = page.getByRole('region', { name: 'Route 10.1.3.0/24' });
  await route.getByText('Best path').waitFor(WAIT);
  await route.getByText('Lost: a longer AS path').waitFor(WAIT);
  await route.getByText('Refused by the import policy').waitFor(WAIT);
  await route.getByText('65000:100').first().waitFor(WAIT);
  await way.getByRole('link', { name: '10.0.0.0/8' }).click();
  await shown(page, '10.2.1.0/24');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.waitForURL(/skip=100/, WAIT);
  await page.getByRole('searchbox').fill('10.1.3.77');
  await page.keyboard.press('Enter');
  await shown(page, 'the longest prefix that has 10.1.3.77');
  await page.getByLabel('Address family').selectOption('vpnv4');
  await shown(page, '65000:100 10.0.0.0/16');
  assert.deepEqual(faults, []);
});

test('lists of an edge go on page by page, each with its place in the address', async () => {
  const { page, go, faults } = await opened(DESKTOP, { kinds: ['pe'] });
  await go('/edge', '1 to 25 of 240');
  const interfaces = page.getByRole('region', { name: 'Interfaces' });
  await interfaces.getByRole('button', { name: 'Next' }).click();
  await page.waitForURL(/[?&]skip=25/, WAIT);
  await shown(page, '26 to 50 of 240');
  const neighbours = page.getByRole('region', { name: 'Neighbours' });
  await neighbours.getByRole('button', { name: 'Next' }).click();
  await page.waitForURL(/skip=25&neighbours=25/, WAIT);
  await interfaces.getByRole('button', { name: 'Previous' }).click();
  await page.waitForURL((url) => url.hash.endsWith('?neighbours=25'), WAIT);
  await shown(page, '1 to 25 of 240');
  await page.getByRole('searchbox').fill('no such neighbour');
  await shown(page, 'No neighbour matches');
  assert.deepEqual(faults, []);
});

test('a network is drawn: routers are chosen, moved, pinned and hidden, changes are undone', async () => {
  const { page, go, faults } = await opened(DESKTOP, { kinds: ['pe'] });
  await go('/network', 'vie1');
  const picture = page.getByRole('region', { name: 'Topology' });
  await picture.getByRole('button', { name: 'Router mil1' }).click();
  await page.waitForURL(/from=1921\.6800\.0010/, WAIT);
  await picture.getByRole('button', { name: 'Router lon1' }).press('Enter');
  await page.waitForURL(/to=1921\.6800\.0008/, WAIT);
  const beside = page.getByRole('region', { name: 'Chosen' });
  await beside.getByText('Shortest, cost').waitFor(WAIT);
  assert.ok((await picture.locator('g.wire.shortest').count()) > 1);
  assert.ok((await picture.locator('g.wire.repair').count()) > 0);
  await beside.getByRole('button', { name: 'Choose none' }).click();
  await page.waitForURL((url) => !url.hash.includes('from='), WAIT);
  // Who is dragged is not chosen, and stays where it was put, after a reload too.
  const waw = picture.getByRole('button', { name: 'Router waw1' });
  // Above the picture are the neighbours, one of whom is not adjacent.
  await waw.scrollIntoViewIfNeeded();
  const box = await waw.locator('.body').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 60, box.y + 40, { steps: 4 });
  await page.mouse.up();
  assert.doesNotMatch(page.url(), /from=/);
  const place = await waw.getAttribute('transform');
  await page.reload();
  await shown(page, 'vie1');
  assert.equal(await waw.getAttribute('transform'), place);
  await waw.press('Enter');
  await picture.getByRole('button', { name: 'Unpin' }).waitFor(WAIT);
  await picture.getByRole('button', { name: 'Hide' }).click();
  await waw.waitFor({ state: 'detached', ...WAIT });
  await picture.getByRole('button', { name: 'Show 1 hidden' }).click();
  await waw.waitFor(WAIT);
  // Two changes back a link costs what it did, and one that came later is not there.
  await page.getByRole('slider', { name: 'Last changes' }).fill('2');
  await page.waitForURL(/back=2/, WAIT);
  assert.equal(await picture.getByRole('img', { name: /ham1 – cph1/ }).count(), 0);
  await picture.getByRole('img', { name: 'fra1 – bru1, cost 24' }).waitFor(WAIT);
  const download = page.waitForEvent('download');
  await picture.getByRole('button', { name: 'SVG' }).click();
  assert.equal((await download).suggestedFilename(), 'IS-IS-level-2.svg');
  assert.deepEqual(faults, []);
});

test('the media of a call are shown from the ladder, the worst call first', async () => {
  const { page, mock, go, faults } = await opened(DESKTOP, { kinds: ['ssc', 'msc', 'sas'] });
  await go('/media?view=worst', 'At worst');
  const rows = page.locator('table tbody tr');
  const moses = await rows.locator('td.mos').allInnerTexts();
  assert.deepEqual(moses, [...moses].sort(), 'the worst first');
  await rows.first().getByRole('link').click();
  const panel = page.getByRole('region', { name: 'Media', exact: true });
  await panel.getByText('Worst MOS').first().waitFor(WAIT);
  await go('/calls/T7002', 'INVITE');
  const bars = page.getByRole('button', { name: /^Media from/ });
  assert.equal(await bars.count(), 3, 'two directions, and what the callee heard');
  await bars.first().click();
  await page.waitForURL(/media=0/, WAIT);
  await panel.getByText('Told by').waitFor(WAIT);
  await panel.getByRole('listitem').getByText('Latched', { exact: true }).waitFor(WAIT);
  await panel.getByText('SRTP AES-128 SHA1-80').first().waitFor(WAIT);
  await panel.getByText('Not heard for some time').waitFor(WAIT);
  // A report that is pointed at says its own figures.
  const chart = panel.getByRole('img').first();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.55, box.y + 40);
  await panel.getByText(/^\+\d+\.\d{3} s MOS/).waitFor(WAIT);
  // A message that is chosen takes its place; Escape goes back step by step.
  await page.keyboard.press('j');
  await page.getByRole('region', { name: 'Message', exact: true }).waitFor(WAIT);
  await page.keyboard.press('Escape');
  await page.keyboard.press('v');
  await panel.waitFor(WAIT);
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached', ...WAIT });
  await go('/calls?q=MOS+%3C+3.5', 'found');
  assert.ok((await page.locator('td.mos').allInnerTexts()).every((mos) => Number(mos) < 3.5));
  // A call without media has neither.
  const plain = mock.details.find((it) => it.trail.outcome === 'busy');
  await go(`/calls/${plain.trail.id}`, 'INVITE');
  assert.equal(await page.getByRole('button', { name: 'Media' }).count(), 0);
  assert.deepEqual(faults, []);
});

test('a standby of a pair is no ill media controller, and the transcoder is shown', async () => {
  const { page, go, faults } = await opened(DESKTOP, { kinds: ['msc'] });
  await go('/media', '16\u202f122');
  const standby = page.getByRole('region', { name: 'Media controller msc2' });
  await standby.getByText('standby', { exact: true }).waitFor(WAIT);
  assert.equal(await standby.getByText('At the other node').count(), 2);
  assert.equal(await standby.getByText('Away').count(), 0);
  await page.getByRole('meter', { name: 'Load of the transcoder of msc1' }).waitFor(WAIT);
  assert.deepEqual(faults, []);
});

test('of several media controllers one may be away', async () => {
  const { page, mock, go, faults } = await opened(DESKTOP, { kinds: ['msc'] });
  mock.failing = ['/functions/msc2'];
  await go('/media', '16\u202f122');
  const away = page.getByRole('region', { name: 'Media controller msc2' });
  await away.getByText('It does not answer').waitFor(WAIT);
  assert.equal(faults.filter((fault) => !/503/.test(fault)).length, 0);
});

test('packets are traced and drawn node by node', async () => {
  const { page, mock, go, faults } = await opened(DESKTOP, { kinds: ['pe'] });
  mock.traced = false;
  await go('/edge?view=trace', 'No packet is traced');
  await page.getByLabel('Containing').fill('10.66.3.9');
  await page.getByRole('button', { name: 'Trace', exact: true }).click();
  const packet = page.getByRole('region', { name: 'Packet 2' });
  await packet.getByText('Dropped', { exact: true }).waitFor(WAIT);
  assert.equal(await packet.getByRole('listitem').count(), 3);
  assert.deepEqual(faults, []);
});

test('what waits is found, opened and tried again, and a text is sent', async () => {
  const { page, mock, go, faults } = await opened(DESKTOP, { kinds: ['ipsmgw'] });
  await go('/messages', 'The terminal has no memory');
  const rows = page.getByRole('table').getByRole('button', { expanded: false });
  assert.equal(await rows.count(), 6, 'a row for each receiver');
  await rows.first().click();
  await page.waitForURL(/to=447700900100/, WAIT);
  assert.equal(await page.locator('.inner li').count(), 5, 'who has waited longest is first');
  const own = page.getByRole('button', { name: 'Try now: 447700900100' });
  await own.click();
  await page.getByText('5 messages for 447700900100 are tried now').waitFor(WAIT);
  const way = page.getByRole('button', { name: 'Try now: 447700900135' });
  assert.ok(await way.isDisabled(), 'what is under way is not tried once more');
  await page.getByRole('searchbox', { name: 'Find a receiver' }).fill('+44 7700 900107');
  await page.waitForURL(/q=/, WAIT);
  await page.getByText('4 messages for 1 receiver').waitFor(WAIT);
  await page.getByRole('button', { name: 'Send a text' }).click();
  await page.getByLabel('To, with the country code').fill('Alice');
  await page.getByLabel('Text', { exact: true }).fill('Welcome');
  const send = page.getByRole('button', { name: 'Send', exact: true });
  await send.click();
  await page.getByRole('alert').getByText('digits with the country code').waitFor(WAIT);
  await page.getByLabel('To, with the country code').fill('+44 7700 900107');
  await send.click();
  await page.getByText('The text for 447700900107 is stored').waitFor(WAIT);
  assert.equal(await page.getByLabel('Text', { exact: true }).count(), 0);
  assert.ok(mock.asked.includes('/functions/ipsmgw1/sms/send'));
  assert.equal(faults.filter((fault) => !/status of 400/.test(fault)).length, 0);
});

test('on a phone the pages that have no place in the bar stand behind it', async () => {
  const { page, faults } = await opened(PHONE);
  const navigation = page.getByRole('navigation', { name: 'Pages' });
  await navigation.getByRole('button', { name: 'More' }).click();
  await navigation.getByRole('link', { name: 'Metrics' }).click();
  await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor(WAIT);
  assert.equal(await navigation.getByRole('link', { name: 'Configuration' }).count(), 0);
  assert.deepEqual(faults, []);
});

test('the first page weighs at most 60 kB, compressed, beside its fonts', async () => {
  const served = await startMock(0, { kinds: ['rr'] });
  const { page, context } = await openPage(browser, served.url, DESKTOP);
  open.push(async () => {
    await context.close();
    await served.stop();
  });
  const weights = [];
  page.on('response', async (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith('/api/') || /\.(woff2|svg)$/.test(pathname)) return;
    weights.push(response.body().then((data) => [pathname, gzipSync(data).length]));
  });
  await page.goto(`${served.url}/#token=${served.token}`);
  await shown(page, 'pe24');
  const all = await Promise.all(weights);
  const sum = all.reduce((sum, [, octets]) => sum + octets, 0);
  assert.ok(sum <= 60_000, `${sum} octets: ${all.join(' ')}`);
});
