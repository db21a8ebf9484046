// What needs a site that behaves on command: the mock. Keys, filters, live tail, configuration,
// phone, colours, refusals.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { openBrowser, openPage } from '../browser.mjs';
import { startMock } from '../mock.mjs';

const WAIT = { timeout: 30_000 };
let site;
let browser;
let seen;

before(async () => {
  site = await startMock();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await site?.stop();
});
beforeEach(async () => {
  seen = await openPage(browser, site.url);
});
afterEach(async () => {
  assert.deepEqual(seen.faults, []);
  await seen.context.close();
});

async function enter(path = '/') {
  await seen.page.goto(`${site.url}/#token=${site.token}&${path}`);
  await seen.page.getByRole('navigation', { name: 'Pages' }).waitFor(WAIT);
}

test('without a session the page asks for the token, and tells when it is wrong', async () => {
  const { page } = seen;
  await page.goto(`${site.url}/`);
  const token = page.getByLabel('Token');
  await token.fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('does not know this token').waitFor(WAIT);
  await token.fill(site.token);
  await token.press('Enter');
  await page.getByRole('heading', { name: 'Functions' }).waitFor(WAIT);
});

test('j, k and Enter walk the list; back returns to the row', async () => {
  const { page } = seen;
  await enter('/calls');
  const rows = page.locator('a.way');
  await rows.first().waitFor(WAIT);
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
  const id = await page.evaluate(() => document.activeElement.dataset.id);
  assert.equal(id, await rows.nth(1).getAttribute('data-id'));
  await page.keyboard.press('Enter');
  await page.getByRole('option').first().waitFor(WAIT);
  await page.keyboard.press('Escape');
  await rows.first().waitFor(WAIT);
  await page.waitForFunction((wanted) => document.activeElement.dataset.id === wanted, id, WAIT);
  await page.goBack();
  await page.getByRole('option').first().waitFor(WAIT);
});

test('filters narrow the list, stand in the address, and survive a reload', async () => {
  const { page } = seen;
  await enter('/calls');
  await page.getByLabel('Outcome').selectOption('busy');
  await page.waitForURL(/outcome=busy/, WAIT);
  const busy = () =>
    page.waitForFunction(
      () => {
        const pills = [...document.querySelectorAll('tbody .pill')];
        return pills.length > 0 && pills.every((pill) => /Busy/.test(pill.textContent));
      },
      null,
      WAIT,
    );
  await busy();
  await page.reload();
  await busy();
  await page.getByRole('searchbox').fill('no such number');
  await page.getByText('Nothing matches').waitFor(WAIT);
  await page.getByRole('button', { name: 'Clear search' }).click();
  await page.locator('a.way').nth(20).waitFor(WAIT);
});

test('the live tail puts new calls on top', async () => {
  const { page } = seen;
  await enter('/calls');
  const first = page.locator('a.way').first();
  await first.waitFor(WAIT);
  const before = await first.getAttribute('data-id');
  await page.keyboard.press('l');
  await page.waitForURL(/live=1/, WAIT);
  await page.waitForFunction(
    (old) => document.querySelector('a.way')?.dataset.id !== old,
    before,
    WAIT,
  );
});

test('older calls come by the page', async () => {
  const { page } = seen;
  await enter('/calls');
  await page.locator('a.way').first().waitFor(WAIT);
  const before = await page.locator('a.way').count();
  await page.getByRole('button', { name: 'Show older' }).click();
  await page.locator('a.way').nth(before).waitFor(WAIT);
});

test('the ladder marks retransmissions, hides them on demand, and goes to the pair', async () => {
  const { page } = seen;
  await enter('/calls/T7002');
  const messages = page.getByRole('option');
  await messages.first().waitFor(WAIT);
  const all = await messages.count();
  assert.equal(await page.locator('.arrow.repeat').count(), 2);
  await page.getByRole('button', { name: 'Repeats' }).click();
  assert.equal(await messages.count(), all - 2);
  await page.keyboard.press('Home');
  await page.keyboard.press('p');
  await page.waitForURL(/m=2/, WAIT);
  await page.keyboard.press('d');
  await page.waitForURL(/view=changes/, WAIT);
  const text = page.getByRole('region', { name: 'Text of the message' });
  await text.getByText('X-Tandem-Realm: access').waitFor(WAIT);
  assert.ok(await text.locator('ins.whole').count(), 'the added header is marked as added');
  await page.getByRole('button', { name: 'RuleApplied' }).click();
  await page.getByText('User-Agent replaced').waitFor(WAIT);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !/m=/.test(location.hash), null, WAIT);
});

test('a trail of thousands of messages is drawn where it is looked at', async () => {
  const { page } = seen;
  const long = structuredClone(site.mock.details.find((d) => d.trail.id === 'T7002'));
  const round = long.messages;
  long.trail.id = 'long';
  long.messages = Array.from({ length: 60 }, (_, turn) =>
    round.map((m) => ({
      ...m,
      n: m.n + turn * round.length,
      at_us: m.at_us + turn * 60e6,
      retransmission_of: null,
      pair: m.pair === null ? null : m.pair + turn * round.length,
    })),
  ).flat();
  site.mock.details.push(long);
  await enter('/calls/long');
  await page.getByRole('option').first().waitFor(WAIT);
  assert.ok((await page.getByRole('option').count()) < long.messages.length);
  await page.keyboard.press('End');
  await page.locator(`#message-${long.messages.length - 1}.on`).waitFor(WAIT);
  await page.keyboard.press('Home');
  await page.locator('#message-0.on').waitFor(WAIT);
});

test('a trail that is gone is told, with a way back', async () => {
  const { page } = seen;
  await enter('/calls/T1');
  await page.getByText('removed by age').waitFor(WAIT);
  seen.faults.length = 0; // the browser logs the 404 that this test asks for
  await page.getByRole('button', { name: 'Back to calls' }).click();
  await page.locator('a.way').first().waitFor(WAIT);
});

test('the configuration is checked with line marks, committed, confirmed', async () => {
  const { page } = seen;
  await enter('/configuration?view=candidate');
  const editor = page.getByLabel('Candidate', { exact: true });
  const before = await editor.inputValue();
  await editor.fill(`colour = "red"\n${before}`);
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.locator('li.mark').getByText('1', { exact: true }).waitFor(WAIT);
  const views = page.getByRole('group', { name: 'View' });
  await page.locator('.body').getByRole('button', { name: 'Compare' }).click();
  await page.getByText('cannot be said: the candidate has 1 mistake').waitFor(WAIT);
  await views.getByRole('button', { name: 'Candidate' }).click();
  await editor.fill(before.replace('shards = 1', 'shards = 2'));
  await page.locator('.body').getByRole('button', { name: 'Compare' }).click();
  await page.getByText('+shards = 2').waitFor(WAIT);
  await page.getByText('rr1: this session restarts: pe1').waitFor(WAIT);
  await page
    .getByRole('group', { name: 'View' })
    .getByRole('button', { name: 'Candidate' })
    .click();
  await page.getByLabel('Comment').fill('two shards');
  await page.getByRole('button', { name: /Commit for/ }).click();
  // What a commit interrupts is said before it is made, and waits for a second word.
  const asked = page.getByRole('alertdialog');
  await asked.getByText('rr1: this session restarts: pe1').waitFor(WAIT);
  assert.equal(await page.getByText('Not confirmed.').count(), 0);
  await asked.getByRole('button', { name: 'Leave it' }).click();
  await asked.waitFor({ ...WAIT, state: 'detached' });
  await page.getByRole('button', { name: /Commit for/ }).click();
  await asked.getByRole('button', { name: 'Commit nevertheless' }).click();
  await page.getByText('Not confirmed.').waitFor(WAIT);
  const view = page.getByRole('group', { name: 'View' });
  await view.getByRole('button', { name: 'History' }).click();
  const first = page.locator('tbody tr').first();
  for (const said of ['alice', 'two shards', 'pending']) {
    await first.getByText(said, { exact: true }).waitFor(WAIT);
  }
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await page.getByText('Not confirmed.').waitFor({ ...WAIT, state: 'detached' });
  await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Running' }).click();
  assert.match(await page.getByLabel('Running configuration').inputValue(), /shards = 2/);
});

test('figures are drawn for what is chosen, and the choice stands in the address', async () => {
  const { page } = seen;
  await enter('/metrics?name=ssc_calls_started_total,ssc_post_dial_delay_us');
  await page.waitForFunction(() => document.querySelectorAll('canvas').length === 2, null, WAIT);
  await page.getByText('p99').first().waitFor(WAIT);
  await page.getByRole('checkbox', { name: 'Registers local' }).check();
  await page.waitForURL(/ssc_registers_local_total/, WAIT);
  await page.waitForFunction(() => document.querySelectorAll('canvas').length === 3, null, WAIT);
});

test('alarms are filtered by severity and kept after they are cleared', async () => {
  const { page } = seen;
  await enter('/alarms');
  await page.getByText('does not answer OPTIONS').waitFor(WAIT);
  await page.getByRole('button', { name: /Warning/ }).click();
  await page.getByText('does not answer OPTIONS').waitFor({ ...WAIT, state: 'detached' });
  await enter('/alarms?history=1');
  await page.getByText('packets were shed').waitFor(WAIT);
});

test('the colours follow the choice and the choice is kept', async () => {
  const { page } = seen;
  await enter();
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Dark colours' }).click();
  const dark = await paper();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole('button', { name: 'Light colours' }).waitFor(WAIT);
  assert.equal(await paper(), dark);
});

test('help opens by ? and closes by Escape', async () => {
  const { page } = seen;
  await enter();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor(WAIT);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ ...WAIT, state: 'detached' });
});

test('on a phone nothing is wider than the screen, except the ladder, which scrolls', async () => {
  await seen.context.close();
  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
  seen = await openPage(browser, site.url, phone);
  const { page } = seen;
  for (const path of [
    '/',
    '/calls',
    '/calls/T7002',
    '/registrations',
    '/alarms',
    '/metrics',
    '/configuration',
  ]) {
    await enter(path);
    await page.waitForTimeout(500);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${path} is ${wide} px wide`);
  }
  await enter('/calls/T7002');
  await page.getByRole('option').first().waitFor(WAIT);
  const ladder = await page.evaluate(() => {
    const area = document.querySelector('.area:has([role=listbox])');
    area.scrollTo(200, 120);
    const head = document.querySelector('.hosts').getBoundingClientRect().top;
    return { head, top: area.getBoundingClientRect().top, left: area.scrollLeft };
  });
  assert.equal(ladder.left, 200);
  assert.equal(ladder.head, ladder.top, 'the hosts stay on top');
});

test('a token sees what its role may, who it is, and signs out', async () => {
  const { page } = seen;
  site.mock.holder = { name: 'noc-screen', role: 'monitor' };
  try {
    await enter('/');
    const navigation = page.getByRole('navigation', { name: 'Pages' });
    await navigation.getByText('noc-screen').waitFor(WAIT);
    const names = await navigation.getByRole('listitem').allInnerTexts();
    assert.deepEqual(
      names.map((name) => name.split('\n')[0].trim()),
      ['Overview', 'Alarms', 'Metrics'],
    );
    assert.equal(await page.getByRole('heading', { name: 'Latest calls' }).count(), 0);
    await enter('/configuration');
    await page.getByText('This page needs the role administrator').waitFor(WAIT);
    await enter('/calls');
    await page.getByText('This page needs the role operator').waitFor(WAIT);
  } finally {
    site.mock.holder = { name: 'administrator', role: 'administrator' };
  }
  await enter('/');
  await page.getByRole('heading', { name: 'Left open to others' }).waitFor(WAIT);
  await page.getByText('oam.listen, line 9').waitFor(WAIT);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Tandem' }).waitFor(WAIT);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Tandem' }).waitFor(WAIT);
});
