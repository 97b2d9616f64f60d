import { get, newest } from './api.js';
import { error, h, link } from './dom.js';

const PAGE = 50;

// The bytes as text, with a dot for each that is not printable.
export function readable(hex) {
  return (hex.match(/../g) ?? []).map(b => {
    const code = parseInt(b, 16);
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.';
  }).join('');
}

// A value in a cell of a list. Byte strings that are all printable are shown as quoted text.
export function value(cell) {
  if (cell === null) {
    return h('span', { class: 'null' }, 'null');
  }
  if (cell.kind === 'bytes' && cell.length === 0) {
    return h('span', { class: 'null' }, 'empty');
  }
  const more = cell.cut ? '…' : '';
  if (cell.kind === 'bytes' && cell.text.match(/../g).every(b => b >= '20' && b < '7f')) {
    return `"${readable(cell.text)}${more}"`;
  }
  return cell.text + more;
}

function side(cell) {
  return cell?.kind === 'number' ? 'num' : cell?.kind ?? '';
}

// The parts of the key that a search takes.
function parts(of, index) {
  if (index === null) {
    return of.columns.slice(0, of.keyParts);
  }
  const spec = of.schema.indexes.find(i => i.index === index);
  return spec.components ?? spec.key.map(f => f.name);
}

export async function browse(root, of, signal) {
  const search = { index: null, mode: 'prefix', order: 'ascending', part: [] };
  let before = []; // the positions of the pages before this one
  let at = null;
  let next = null;
  const requested = newest();

  const form = h('form', { class: 'bar', role: 'search', onsubmit: e => { e.preventDefault(); start(); } });
  const order = h('select', { name: 'order' },
    h('option', { value: 'ascending' }, 'ascending'), h('option', { value: 'descending' }, 'descending'));
  const by = h('select', { name: 'index', onchange: inputs },
    h('option', { value: '' }, 'the key'), of.schema.indexes.map(i => h('option', { value: i.index }, i.index)));
  const mode = h('select', { name: 'mode' },
    h('option', { value: 'prefix' }, 'starts with'), h('option', { value: 'from' }, 'from … on'));
  const list = h('div', { class: 'scroll' });
  const problem = h('div');
  const back = h('button', { type: 'button', name: 'previous', onclick: () => { at = before.pop(); load(); } }, 'Previous');
  const forth = h('button', { type: 'button', name: 'next', onclick: () => { before.push(at); at = next; load(); } }, 'Next');
  const where = h('span', { class: 'muted', role: 'status' });

  function inputs() {
    const names = parts(of, by.value || null);
    const objects = of.kind === 'objects' && by.value;
    mode.disabled = Boolean(objects);
    if (objects) {
      mode.value = 'prefix';
    }
    form.replaceChildren(
      h('label', {}, 'By', by), h('label', {}, 'Order', order), h('label', {}, 'Match', mode),
      ...names.map(n => h('label', {}, n, h('input', { name: 'part', autocomplete: 'off', spellcheck: 'false' }))),
      h('button', { class: 'primary' }, 'Search'),
      h('button', { type: 'button', name: 'clear', onclick: clear }, 'Clear'));
    if (of.writable) {
      form.append(h('button', { type: 'button', name: 'new', onclick: () => { location.hash = link('new', of.table); } }, 'New record'));
    }
  }

  function clear() {
    by.value = '';
    order.value = 'ascending';
    mode.value = 'prefix';
    inputs();
    start();
  }

  function start() {
    const texts = [...form.querySelectorAll('input[name=part]')].map(i => i.value);
    while (texts.length > 0 && texts.at(-1) === '') {
      texts.pop();
    }
    Object.assign(search, { index: by.value || null, mode: mode.value, order: order.value, part: texts });
    before = [];
    at = null;
    return load();
  }

  async function load() {
    const isNewest = requested();
    back.disabled = true; // until the page that they refer to is known
    forth.disabled = true;
    let page = null;
    let failure = null;
    try {
      page = await get('records', { table: of.table, ...search, limit: PAGE, at });
    } catch (e) {
      failure = e;
    }
    if (signal.aborted || !isNewest()) {
      return;
    }
    if (failure) {
      back.disabled = before.length === 0;
      problem.replaceChildren(error(failure));
      return;
    }
    next = page.next;
    problem.replaceChildren();
    render(page);
  }

  function render(page) {
    const shown = page.records;
    const numeric = page.columns.map((c, i) => shown.some(r => r.cells[i]?.kind === 'number'));
    list.replaceChildren(h('table', {},
      h('thead', {}, h('tr', {}, page.columns.map((c, i) => h('th', { scope: 'col', class: numeric[i] ? 'num' : '' }, c)))),
      h('tbody', {}, shown.map(r => h('tr', {}, r.cells.map((cell, i) => {
        const text = value(cell);
        const isLink = page.columns[i] === of.columns[0];
        const fit = of.columns.indexOf(page.columns[i]) < of.keyParts ? ' fit' : '';
        return h('td', { class: `value ${cell === null && numeric[i] ? 'num' : side(cell)}${fit}`, title: cell?.text },
          isLink ? h('a', { href: link('record', of.table, ...r.key) }, text) : text);
      }))))));
    list.hidden = shown.length === 0;
    const first = before.length * PAGE;
    where.textContent = shown.length === 0
      ? 'No records.' : `Records ${first + 1} to ${first + shown.length}${next ? '' : ', the last'}`;
    back.disabled = before.length === 0;
    forth.disabled = !next;
  }

  inputs();
  root.append(form, problem, list, h('div', { class: 'pager' }, back, forth, where));
  await load();
}
