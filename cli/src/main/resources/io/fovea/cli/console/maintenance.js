import { count, error, facts, h, size } from './dom.js';
import { bar, follow, start } from './jobs.js';
import { state } from './main.js';

const seconds = job => `${job.seconds.toFixed(job.seconds < 10 ? 1 : 0)} s`;

function job(root, signal, { kind, title, text, form, progress, result }) {
  const now = h('div');
  const problem = h('div');
  const following = follow(kind, signal, j => {
    if (j.running) {
      now.replaceChildren(bar(j, kind, progress(j)));
    } else {
      now.replaceChildren(j.error ? error({ message: j.error }) : result(j));
    }
  });
  root.append(h('section', { class: 'job', id: kind }, h('h2', {}, title), text.map(t => h('p', {}, t)),
    form(async body => { if (await start(kind, body, problem)) { await following.started(); } }), problem, now));
  return following.look();
}

export async function maintenance(root, parts, signal) {
  const info = state.info;
  root.append(h('h1', {}, 'Verify and back up'));
  await job(root, signal, {
    kind: 'verify',
    title: 'Verify',
    text: [info.write
      ? 'Checks every page, tree and index entry. Changes wait until the check ends.'
      : 'Checks every page, tree, index entry and log record. Nothing on disk changes.'],
    form: run => h('button', { type: 'button', name: 'verify', class: 'primary', onclick: () => run({}) }, 'Verify'),
    progress: j => `${size(j.done)} read, ${seconds(j)}`,
    result: j => h('div', { class: 'result' }, h('p', { class: j.result.problems.length === 0 ? 'good' : 'bad' },
      j.result.problems.length === 0 ? 'Nothing is wrong.' : 'The database is damaged.'),
    h('ul', {}, j.result.problems.map(p => h('li', {}, p))),
    facts([['Pages', `${count(j.result.pages)}, ${count(j.result.freePages)} free`], ['Trees', count(j.result.trees)],
      ['Records', count(j.result.records)], ['Duration', seconds(j)]])),
  });
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '').replace('T', '-');
  const name = h('input', { name: 'backup-name', class: 'wide', value: `${info.file.split('/').pop()}-${stamp}`.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^[.-]+/, ''), required: true });
  await job(root, signal, {
    kind: 'backup',
    title: 'Back up',
    text: [`Copies the database into a new directory in ${info.backups}. Every page and log record is verified.`,
      [h('code', {}, 'fovea restore'), ' makes a database of it.']],
    form: run => h('form', { class: 'bar', onsubmit: e => { e.preventDefault(); run({ name: name.value }); } },
      h('label', {}, 'New directory', name), h('button', { class: 'primary', name: 'backup' }, 'Back up')),
    progress: j => `${size(j.done)} of ${size(j.total)}, ${seconds(j)}`,
    result: j => h('div', { class: 'result' }, h('p', { class: 'good' }, 'The backup is complete.'), facts([
      ['Directory', h('span', { class: 'mono' }, j.result.directory)],
      ['Pages', `${count(j.result.pagesCopied)} of ${count(j.result.pages)}`],
      ['Data', size(j.result.dataBytes)], ['Log', size(j.result.logBytes)], ['Duration', seconds(j)]])),
  });
  return 'Verify and back up';
}
