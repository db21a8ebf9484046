// The walk of an operator through any site: the mock, or the one that TANDEM_URL and TANDEM_TOKEN
// name (TANDEM_CALL_ID chooses the call, else the newest answered one). Read only.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import { openBrowser, openPage } from '../browser.mjs';
import { startMock } from '../mock.mjs';

const WAIT = { timeout: 30_000 };
let site;
let browser;
let seen;

before(async () => {
  const { TANDEM_URL: url, TANDEM_TOKEN: token } = process.env;
  site = url
    ? { url: url.replace(/\/$/, ''), token, stop: async () => undefined }
    : await startMock();
  browser = await openBrowser();
  seen = await openPage(browser, site.url);
  await seen.page.goto(`${site.url}/#token=${encodeURIComponent(site.token)}`);
  await seen.page.getByRole('navigation', { name: 'Pages' }).waitFor(WAIT);
});

after(async () => {
  await browser?.close();
  await site?.stop();
});

async function api(path) {
  const response = await seen.context.request.get(`${site.url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${site.token}` },
  });
  assert.equal(response.status(), 200, path);
  return response.json();
}

async function chosenCall() {
  const wanted = process.env.TANDEM_CALL_ID;
  const query = wanted ? `call_id=${encodeURIComponent(wanted)}` : 'kind=call&outcome=answered';
  const { trails } = await api(`/sas/trails?${query}&limit=5`);
  assert.ok(trails.length, 'the site holds an answered call');
  return trails[0];
}

test('the token leaves the address and the overview stands', async () => {
  const { page } = seen;
  assert.doesNotMatch(page.url(), /token/);
  await page.getByRole('heading', { name: 'Functions' }).waitFor(WAIT);
  const { functions } = await api('/site');
  for (const { name } of functions)
    await page.getByText(name, { exact: true }).first().waitFor(WAIT);
  await page.locator('.figure').first().waitFor(WAIT);
});

test('a call is found by its Call-ID and opens as a ladder', async () => {
  const { page } = seen;
  const call = await chosenCall();
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.getByRole('searchbox', { name: 'Search calls' }).waitFor(WAIT);
  await page.keyboard.press('/');
  await page.keyboard.type(call.call_ids[0]);
  const row = page.locator(`a.way[data-id="${call.id}"]`);
  await row.waitFor(WAIT);
  await page.waitForFunction(() => document.querySelectorAll('a.way').length === 1, null, WAIT);
  assert.ok(new URL(page.url()).hash.includes('q='), 'the address holds the search');
  await row.click();
  const messages = page.getByRole('listbox', { name: /Messages/ }).getByRole('option');
  await messages.first().waitFor(WAIT);
  const detail = await api(`/sas/trails/${encodeURIComponent(call.id)}`);
  assert.equal(await messages.count(), detail.messages.length);
  assert.match(
    await messages.first().getAttribute('aria-label'),
    /^[A-Z]+.* from .* to .* at \+0\.000/,
  );
});

test('a message shows its text and what changed on the other leg', async () => {
  const { page } = seen;
  const messages = page.getByRole('listbox').getByRole('option');
  await messages.first().click();
  const text = page.getByRole('region', { name: 'Text of the message' });
  await text.waitFor(WAIT);
  assert.match(await text.innerText(), /Call-ID: ?\S+/i);
  assert.match(page.url(), /[?&]m=\d+/);
  const changes = page.getByRole('button', { name: 'Changes' });
  if (await changes.isEnabled()) {
    await changes.click();
    await text.locator('ins b').first().waitFor(WAIT);
    assert.match(await text.innerText(), /Via:/i);
  }
  const first = page.url();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction((before) => location.href !== before, first, WAIT);
});

test('the trail downloads as pcapng, text, JSON and SVG', async () => {
  const { page } = seen;
  const heads = {
    pcapng: (data) => assert.equal(data.readUInt32BE(0), 0x0a0d0d0a),
    Text: (data) => assert.match(String(data), /INVITE/),
    JSON: (data) => assert.ok(JSON.parse(String(data)).messages.length > 0),
    SVG: (data) => assert.match(String(data), /^<svg[^]*INVITE/),
  };
  for (const [name, check] of Object.entries(heads)) {
    await page.getByText('Download', { exact: true }).click();
    const waiting = page.waitForEvent('download', WAIT);
    await page.locator('.menu').getByText(name, { exact: true }).click();
    check(await readFile(await (await waiting).path()));
  }
});

test('a capture dropped on the page is read and drawn', async () => {
  const { page, context } = seen;
  const call = await chosenCall();
  const file = await context.request.get(
    `${site.url}/api/v1/sas/trails/${encodeURIComponent(call.id)}/pcapng`,
    { headers: { authorization: `Bearer ${site.token}` } },
  );
  const bytes = (await file.body()).toString('base64');
  await page.evaluate((base64) => {
    const data = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([data], 'dropped.pcapng'));
    for (const type of ['dragenter', 'dragover', 'drop']) {
      window.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, cancelable: true }));
    }
  }, bytes);
  await page.waitForURL(/#\/file/, WAIT);
  const trail = page.locator('a.way, [role=option]').first();
  await trail.waitFor(WAIT);
  if ((await trail.getAttribute('role')) !== 'option') await trail.click();
  await page.getByRole('option').first().waitFor(WAIT);
});

test('every other page stands', async () => {
  const { page } = seen;
  for (const name of ['Registrations', 'Alarms', 'Metrics', 'Configuration']) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor(WAIT);
    await page.waitForTimeout(400);
    assert.equal(await page.getByRole('alert').count(), 0, `${name} shows an error`);
  }
});

test('nothing was fetched from elsewhere, and nothing was complained about', () => {
  assert.deepEqual(seen.faults, []);
});

test('what the site answers is what its description says', async (context) => {
  if (!process.env.TANDEM_URL) return context.skip('the stand-in has no description');
  const description = await api('/openapi.json');
  const { functions } = await api('/site');
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  let looked_at = 0;
  for (const [path, { get }] of Object.entries(description.paths)) {
    const schema = get?.responses['200']?.content?.['application/json']?.schema;
    const asks = get?.parameters?.some((it) => it.required && it.name !== 'name');
    if (!schema || asks || !path.startsWith('/api/v1/')) continue;
    const names = path.includes('{name}')
      ? functions.filter(({ kind }) => get.tags.includes(kind)).map(({ name }) => name)
      : [''];
    const fits = ajv.compile({ ...schema, components: description.components });
    for (const name of names) {
      const place = path.replace('{name}', encodeURIComponent(name)).replace('/api/v1', '');
      const response = await seen.context.request.get(`${site.url}/api/v1${place}`, {
        headers: { authorization: `Bearer ${site.token}` },
      });
      // A function that is no part of a pair has no such row.
      if (response.status() === 404) continue;
      assert.equal(response.status(), 200, place);
      assert.ok(fits(await response.json()), `${place}: ${ajv.errorsText(fits.errors)}`);
      looked_at += 1;
    }
  }
  assert.ok(looked_at > 15, `${looked_at} answers`);
});
