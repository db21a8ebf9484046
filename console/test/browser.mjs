// Debian's Chromium through playwright-core, with ears for everything that must not happen:
// console errors, uncaught errors, requests to other hosts, offences against the content policy.
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
  });
}

/** A page of its own session; `faults` fills with what went wrong. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => {
    // Being asked to sign in is told by a 401, which the browser logs by itself.
    if (message.type() === 'error' && !/status of 401/.test(message.text())) {
      faults.push(`console: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const target = new URL(request.url());
    if (/^https?:$/.test(target.protocol) && target.origin !== new URL(url).origin) {
      faults.push(`external request: ${request.url()}`);
    }
  });
  return { page, context, faults };
}
