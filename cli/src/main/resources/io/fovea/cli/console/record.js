import { download, get, send } from './api.js';
import { count, error, h, link, say } from './dom.js';
import { reload, state } from './main.js';
import { find } from './tables.js';
import { readable, value } from './browse.js';

// #/record/TABLE/KEY... and #/new/TABLE
export async function recordView(root, [name, ...key], signal, view) {
  const of = find(name);
  const isNew = view === 'new';
  const record = isNew ? { key: [], cells: {} } : await get('record', { table: name, key });
  const title = isNew ? 'New record' : of.keyParts === 1 ? keyText(of, record, 0)
    : key.map((k, i) => `${of.columns[i]} ${keyText(of, record, i)}`).join(', ');
  root.append(
    h('p', {}, h('a', { href: link('table', name) }, name)),
    h('h1', {}, title));
  if (isNew) {
    edit(root, of, record, true);
  } else {
    show(root, of, record);
  }
  return `${title} in ${name}`;
}

function hexLines(hex) {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) {
    const part = hex.slice(at, at + 32);
    lines.push(`${(at / 2).toString(16).padStart(8, '0')}  ${part.match(/../g).join(' ').padEnd(48)} ${readable(part)}`);
  }
  return lines.join('\n');
}

function whole(of, record, column, cell) {
  if (cell === null || (cell.length === 0)) {
    return value(cell);
  }
  const parts = [];
  if (cell.kind === 'bytes') {
    parts.push(h('pre', {}, hexLines(cell.text)));
  } else if (cell.kind === 'json' && !cell.cut) {
    parts.push(h('pre', {}, indented(cell.text)));
  } else {
    parts.push(cell.length > 100 || cell.text.includes('\n') ? h('pre', {}, cell.text) : cell.text);
  }
  if (cell.length > 100 || cell.cut) {
    parts.push(h('p', { class: 'muted' },
      `${count(cell.length)} ${cell.kind === 'bytes' ? 'bytes' : 'characters'}${cell.cut ? ', shown in part' : ''}. `,
      h('button', { type: 'button', name: 'download', onclick: e => save(e.target.parentElement, of.table, record.key, column) }, 'Download')));
  }
  return parts;
}

async function save(at, table, key, column) {
  try {
    await download(table, key, column);
  } catch (e) {
    at.after(error(e));
  }
}

function keyText(of, record, i) {
  return value(record.cells[of.columns[i]] ?? null);
}

// JSON.parse rounds large numbers: those are left as they are.
function indented(text) {
  return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2);
}

function show(root, of, record) {
  const values = h('div', { class: 'scroll' }, h('table', {}, h('tbody', {},
    Object.entries(record.cells).map(([column, cell]) => h('tr', {},
      h('th', { scope: 'row', class: 'fit' }, column),
      h('td', { class: 'fit muted' }, of.columns.indexOf(column) < of.keyParts && of.columns.includes(column) ? 'key' : cell?.kind ?? ''),
      h('td', { class: 'wrap' }, whole(of, record, column, cell)))))));
  root.append(values);
  if (of.writable) {
    const actions = h('div', { class: 'actions' },
      h('button', { type: 'button', name: 'edit', onclick: () => { values.remove(); actions.remove(); edit(root, of, record, false); } }, 'Edit'),
      h('button', { type: 'button', name: 'delete', class: 'danger', onclick: () => remove(root, of, record) }, 'Delete'));
    root.append(actions);
  } else if (state.info.write) {
    root.append(h('p', { class: 'muted' }, 'This table has an index by a computed key: only its application can change it.'));
  }
}

async function remove(root, of, record) {
  if (!confirm(`Delete the record ${record.key.join(' ')} of ${of.table}?`)) {
    return;
  }
  try {
    await send('DELETE', 'record', { table: of.table, key: record.key });
    await reload();
    say('The record was deleted.');
    location.hash = link('table', of.table);
  } catch (e) {
    root.append(error(e));
  }
}

// The text of a value that a form edits; byte strings of tables of bytes begin with 0x.
function editable(of, cell) {
  return cell === null || cell === undefined ? '' : (of.kind === 'bytes' && cell.kind === 'bytes' ? '0x' : '') + cell.text;
}

function edit(root, of, record, isNew) {
  const keyColumns = of.columns.slice(0, of.keyParts);
  const valueColumns = of.columns.slice(of.keyParts);
  const cut = valueColumns.filter(c => record.cells[c]?.cut);
  const keys = keyColumns.map((c, i) => h('input', {
    class: 'wide', 'aria-label': c, name: c, value: isNew ? '' : record.key[i], disabled: !isNew, autocomplete: 'off' }));
  const rows = valueColumns.map(c => {
    const cell = record.cells[c];
    const nullable = of.nullable.includes(c);
    const box = h('textarea', { 'aria-label': c, name: c, rows: cell?.length > 100 ? '6' : '1', spellcheck: 'false', disabled: cut.includes(c) });
    const text = editable(of, cell);
    box.value = text;
    const none = h('input', { type: 'checkbox', disabled: cut.includes(c), onchange: () => { box.disabled = none.checked; } });
    none.checked = nullable && (cell === null || cell === undefined);
    box.disabled ||= none.checked;
    return { column: c, box, none, nullable, text, shown: box.value };
  });
  const problem = h('div');
  const form = h('form', {
    onsubmit: async e => {
      e.preventDefault();
      const values = {};
      for (const r of rows) {
        if (!cut.includes(r.column)) {
          // A text area has no carriage returns: a value that was not edited keeps its own.
          values[r.column] = r.none.checked ? null : r.box.value === r.shown ? r.text : r.box.value;
        }
      }
      const key = isNew ? keys.map(k => k.value) : record.key;
      try {
        await send('PUT', 'record', { table: of.table, key, values, create: isNew });
        await reload();
        say(isNew ? 'The record was added.' : 'The record was saved.');
        const to = link('record', of.table, ...key);
        if (location.hash === to) {
          window.dispatchEvent(new HashChangeEvent('hashchange'));
        } else {
          location.hash = to;
        }
      } catch (failure) {
        problem.replaceChildren(error(failure));
      }
    },
  },
  cut.length > 0 && of.kind !== 'rows'
    ? h('p', { class: 'notice' }, 'This record has a value too long for this form.')
    : null,
  h('div', { class: 'scroll' }, h('table', {}, h('tbody', {},
    keys.map((k, i) => h('tr', {}, h('th', { scope: 'row', class: 'fit' }, keyColumns[i]), h('td', { class: 'fit muted' }, 'key'), h('td', {}, k))),
    rows.map(r => h('tr', {}, h('th', { scope: 'row', class: 'fit' }, r.column),
      h('td', { class: 'fit' }, r.nullable ? h('label', { class: 'muted' }, r.none, 'null') : ''),
      h('td', {}, r.box)))))),
  problem,
  h('div', { class: 'actions' },
    h('button', { class: 'primary', name: 'save', disabled: cut.length > 0 && of.kind !== 'rows' }, isNew ? 'Add' : 'Save'),
    h('button', { type: 'button', onclick: () => { location.hash = link('table', of.table); } }, 'Cancel')));
  root.append(form);
  (isNew ? keys[0] : rows[0]?.box)?.focus();
}
