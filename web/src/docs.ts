// /docs with a hand on it: copy buttons, and calls to the service that serves the page. Without this file it is a page to read.
import type { Payer } from 'tickyard/pay';

interface Sandbox {
  wallets: { privateKey: string }[];
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, text = '', shape = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = shape;
  return made;
}

function button(text: string, act: () => void): HTMLButtonElement {
  const made = make('button', text);
  made.type = 'button';
  made.addEventListener('click', act);
  return made;
}

async function copy(text: string, made: HTMLButtonElement): Promise<void> {
  const before = made.textContent;
  try {
    await navigator.clipboard.writeText(text);
    made.textContent = 'Copied';
  } catch {
    made.textContent = 'Select and copy by hand';
  }
  setTimeout(() => (made.textContent = before), 1500);
}

for (const block of document.querySelectorAll('main pre')) {
  const frame = make('div', '', 'copied');
  block.replaceWith(frame);
  const made = button('Copy', () => void copy(block.textContent ?? '', made));
  frame.append(block, made);
}

// One payer for the life of the page: all it may spend is play money, and not much of it.
let payer: Payer | undefined;

async function demoPayer(): Promise<Payer> {
  if (!payer) {
    const [{ Payer }, { privateKeyToAccount }, info] = await Promise.all([
      import('tickyard/pay'),
      import('viem/accounts'),
      fetch('/sandbox').then((reply) => reply.json() as Promise<Sandbox>),
    ]);
    payer = new Payer(privateKeyToAccount(info.wallets[0]!.privateKey as `0x${string}`), { limitUsd: '5', network: 'eip155:8453' });
  }
  return payer;
}

function tryIt(article: HTMLElement): void {
  const { method, target, body } = article.dataset as { method: string; target: string; body?: string };
  const form = make('form', '', 'try');
  const line = make('div', '', 'line');
  const path = make('input');
  path.value = target;
  path.setAttribute('aria-label', 'Path and query');
  path.spellcheck = false;
  const send = make('button', 'Send');
  line.append(make('b', method, method.toLowerCase()), path, send);
  form.append(line);
  const text = make('textarea');
  if (body) {
    text.value = JSON.stringify(JSON.parse(body), null, 2);
    text.rows = Math.min(12, text.value.split('\n').length);
    text.setAttribute('aria-label', 'Body');
    form.append(text);
  }
  const said = make('div', '', 'said');
  said.setAttribute('aria-live', 'polite');
  form.append(said);

  const call = async (more: Record<string, string> = {}): Promise<Response> => {
    const began = performance.now();
    const reply = await fetch(path.value, {
      method,
      headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...more },
      ...(body ? { body: text.value } : {}),
    });
    const shown = await reply.clone().text();
    said.replaceChildren(make('p', `${reply.status} after ${Math.round(performance.now() - began)} ms`, reply.ok ? 'good' : 'bad'));
    const receipt = reply.headers.get('payment-response');
    if (receipt && reply.ok) said.append(make('p', `paid: ${atob(receipt)}`));
    said.append(pretty(shown, reply.headers.get('content-type') ?? ''));
    return reply;
  };
  const pay = async (): Promise<void> => {
    const { advice } = await (await demoPayer()).pay(`${method} ${path.value} ${text.value}`, async (headers) => {
      const reply = await call(headers);
      return { status: reply.status, headers: reply.headers, text: await reply.text() };
    });
    if (advice) said.prepend(make('p', advice, 'bad'));
  };
  const act = async (doing: () => Promise<unknown>): Promise<void> => {
    send.disabled = true;
    try {
      await doing();
    } catch (error) {
      said.replaceChildren(make('p', error instanceof Error ? error.message : String(error), 'bad'));
    } finally {
      send.disabled = false;
    }
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void act(async () => {
      const reply = await call();
      if (reply.status !== 402) return;
      const isSandbox = document.body.dataset.sandbox !== undefined;
      said.prepend(
        isSandbox
          ? button('Pay with the demo wallet and ask again', () => void act(pay))
          : make('p', 'Sign one of these offers with a wallet of yours and ask again: see the page “Pay” of the app.'),
      );
    });
  });
  article.querySelector('.examples')!.prepend(form);
}

function pretty(text: string, kind: string): HTMLPreElement {
  const block = make('pre');
  let shown = text;
  if (kind.startsWith('application/json')) {
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // As it came.
    }
  }
  block.append(make('code', shown.length > 20_000 ? `${shown.slice(0, 20_000)}\n…` : shown));
  block.tabIndex = 0;
  return block;
}

for (const article of document.querySelectorAll<HTMLElement>('article[data-target]')) tryIt(article);
