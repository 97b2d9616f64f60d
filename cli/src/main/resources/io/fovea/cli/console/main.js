import { get, newest, send } from './api.js';
import { count, error, h, link, say, time } from './dom.js';
import { overview } from './overview.js';
import { tableView } from './tables.js';
import { recordView } from './record.js';
import { activity } from './activity.js';
import { transactions } from './transactions.js';
import { pages } from './pages.js';
import { maintenance } from './maintenance.js';

const VIEWS = { overview, table: tableView, record: recordView, new: recordView, activity, transactions, pages, maintenance };

// What the views share: the file and its tables, and a signal that ends with the view.
export const state = { info: null, tables: [] };

const main = document.getElementById('main');
let view = new AbortController();

const reloaded = newest();

export async function reload() {
  const isNewest = reloaded();
  const [newInfo, newTables] = await Promise.all([get('info'), get('tables')]);
  if (!isNewest()) {
    return;
  }
  state.info = newInfo;
  state.tables = newTables;
  const info = state.info;
  const name = info.file.split('/').pop();
  const file = document.getElementById('file');
  file.textContent = name;
  file.title = info.file;
  const mode = document.getElementById('mode');
  mode.textContent = info.write ? 'read and write' : info.copy ? 'copy, read-only' : 'read-only';
  mode.classList.toggle('write', info.write);
  document.getElementById('copied').textContent =
    info.copy ? `copied at ${time(info.opened)}` : '';
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

// A typed or truncated address may be malformed: it then means what it says.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch (e) {
    return part;
  }
}

export async function show() {
  view.abort();
  view = new AbortController();
  const signal = view.signal;
  const [name, ...parts] = (location.hash || '#/overview').slice(2).split('/').map(decoded);
  const root = h('div', { 'data-view': name });
  try {
    const title = await (VIEWS[name] ?? overview)(root, parts, signal, name);
    if (!signal.aborted) {
      document.title = `${title} - Fovea`;
    }
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

const refresh = document.getElementById('refresh');
let copying = false;

// Replaces the copy, and shows how long that takes; a second click cancels it.
refresh.addEventListener('click', async () => {
  if (copying) {
    await send('DELETE', 'jobs', { kind: 'copy' }).catch(e => say(e.message));
    return;
  }
  copying = true;
  refresh.textContent = 'Cancel';
  let failure = null;
  try {
    await send('POST', 'refresh');
    for (let job = (await get('jobs')).copy; ; job = (await get('jobs')).copy) {
      if (!job.running) {
        failure = job.error;
        break;
      }
      document.getElementById('copied').textContent = `copying, ${Math.round(job.seconds)} s`;
      await new Promise(done => setTimeout(done, 300));
    }
    await reload();
    await show();
  } catch (e) {
    failure = e.message;
  }
  copying = false;
  refresh.textContent = 'New copy';
  say(failure ?? 'This is a new copy.');
});

window.addEventListener('hashchange', () => {
  if (location.hash !== '#main') {
    show().then(() => main.focus());
  }
});

reload().then(show, e => main.replaceChildren(error(e)));
