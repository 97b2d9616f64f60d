import { get, send } from './api.js';
import { count, error, h, link, say } from './dom.js';
import { overview } from './overview.js';
import { tableView } from './tables.js';
import { recordView } from './record.js';
import { activity } from './activity.js';
import { pages } from './pages.js';
import { maintenance } from './maintenance.js';

const VIEWS = { overview, table: tableView, record: recordView, new: recordView, activity, pages, maintenance };

// What the views share: the file and its tables, and a signal that ends with the view.
export const state = { info: null, tables: [] };

const main = document.getElementById('main');
let view = new AbortController();

export async function reload() {
  [state.info, state.tables] = await Promise.all([get('info'), get('tables')]);
  const info = state.info;
  const name = info.file.split('/').pop();
  const file = document.getElementById('file');
  file.textContent = name;
  file.title = info.file;
  const mode = document.getElementById('mode');
  mode.textContent = info.write ? 'read and write' : info.copy ? 'copy, read-only' : 'read-only';
  mode.classList.toggle('write', info.write);
  document.getElementById('copied').textContent =
    info.copy ? `copied at ${new Date(info.opened).toLocaleTimeString()}` : '';
  document.getElementById('refresh').hidden = !info.copy;
  document.getElementById('tables').replaceChildren(...state.tables.map(t =>
    h('li', {}, h('a', { href: link('table', t.table), title: t.table },
      h('span', { class: 'name' }, t.table), h('span', { class: 'count' }, count(t.records))))));
  mark();
}

function mark() {
  for (const a of document.querySelectorAll('nav a')) {
    const own = location.hash === a.hash || location.hash.startsWith(a.hash + '/');
    const parts = location.hash.split('/');
    const record = ['record', 'new'].includes(parts[1]) && a.hash === `#/table/${parts[2]}`;
    if (own || record) {
      a.setAttribute('aria-current', 'page');
    } else {
      a.removeAttribute('aria-current');
    }
  }
}

export async function show() {
  view.abort();
  view = new AbortController();
  const signal = view.signal;
  const [name, ...parts] = (location.hash || '#/overview').slice(2).split('/').map(decodeURIComponent);
  const root = h('div', { 'data-view': name });
  try {
    const title = await (VIEWS[name] ?? overview)(root, parts, signal, name);
    document.title = `${title} - Fovea`;
  } catch (e) {
    root.replaceChildren(error(e));
  }
  if (!signal.aborted) {
    main.replaceChildren(root);
    main.scrollTop = 0;
    mark();
  }
}

// Calls a function each second while the page is visible, until the view ends.
export function poll(signal, work) {
  const tick = () => { if (!document.hidden) { work(); } };
  const timer = setInterval(tick, 1000);
  signal.addEventListener('abort', () => clearInterval(timer));
  document.addEventListener('visibilitychange', tick, { signal });
}

document.getElementById('refresh').addEventListener('click', async event => {
  event.target.disabled = true;
  try {
    await send('POST', 'refresh');
    await reload();
    await show();
    say('This is a new copy.');
  } catch (e) {
    say(e.message);
  }
  event.target.disabled = false;
});

window.addEventListener('hashchange', () => {
  if (location.hash !== '#main') {
    show().then(() => main.focus());
  }
});

reload().then(show, e => main.replaceChildren(error(e)));
